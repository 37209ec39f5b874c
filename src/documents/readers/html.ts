/**
 * HTML: the text that a browser shows, under its headings. Scripts, forms and hidden elements are
 * left out; of what is outside of the main part of a page, also what is small or mostly links.
 *
 * Markdown, books and notebooks are read as HTML too, so all formats have the same blocks.
 *
 * Source: HTML Standard, 15.3 (elements that are blocks or not rendered).
 */

import { InputError } from "../../io/errors.ts";
import { countWords } from "../../text/units.ts";
import type { Budget } from "../file/budget.ts";
import type { SourceFile } from "../file/source-file.ts";
import type { Document, Place } from "../tree/document.ts";
import { type Aside, HtmlBlocks, type PageBlock } from "../tree/html-blocks.ts";
import { addElements } from "../tree/html-tree.ts";
import {
  type Element,
  find,
  type LineAt,
  parseHtml,
  parseXhtml,
  textContent,
} from "../tree/markup.ts";
import { Outline } from "../tree/outline.ts";

/** A part of a page outside of the text that has less words and no heading is left out. */
const MIN_WORDS = 20;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const source = await file.text();
  const root = await parsePage(source, file);
  const outline = new Outline();
  const walker = new HtmlBlocks(file.budget, true);
  walker.read(root);
  const shown = shownBlocks(walker.blocks);
  for (const { level, text, details } of shown)
    if (level > 0) outline.heading(level, text, details);
    else outline.text(text, details);
  reportLoss(file, walker.blocks, new Set(shown));
  yield outline.document(pageTitle(root));
}

/** XHTML is XML by its name or its first line. */
const parsePage = (source: string, { name, budget }: SourceFile): Promise<Element> =>
  /\.xhtml(?:\.gz)?$/i.test(name) || source.trimStart().startsWith("<?xml")
    ? parseXhtml(source, budget)
    : parseHtml(source, budget);

/** Adds the text of HTML that is no web page, so that all of it is read. */
export async function addHtml(
  html: string,
  outline: Outline,
  budget: Budget,
  lineAt?: LineAt,
  place?: Place,
): Promise<void> {
  const root = await parseHtml(html, budget, lineAt);
  addElements(root.children, outline, budget, place);
}

function pageTitle(root: Element): string | undefined {
  for (const title of find(root, "title", "svg"))
    if (title.name === "title") return textContent(title);
  return undefined;
}

/**
 * The blocks of `main`, else of `article`, else of the page, and what is text beside them. Of
 * navigation, footers, asides, and what is outside of the main part, each with less than 20 words
 * and no heading, or mostly links, is left out.
 */
function shownBlocks(blocks: readonly PageBlock[]): readonly PageBlock[] {
  const main = (["main", "article"] as const).find((name) =>
    blocks.some(({ part }) => part === name),
  );
  const groups = new Map<Aside, PageBlock[]>();
  const groupOf = new Map<PageBlock, Aside>();
  let run: Aside | undefined; // consecutive blocks outside of the main part
  for (const block of blocks) {
    const isMain = main === undefined || block.part === "main" || block.part === main;
    if (block.aside || isMain) run = undefined;
    else run ??= { isInText: false, isBanner: false };
    const group = block.aside ?? run;
    if (group === undefined) continue;
    groupOf.set(block, group);
    const others = groups.get(group);
    if (others) others.push(block);
    else groups.set(group, [block]);
  }
  const texts = new Set([...groups].filter(([, all]) => isText(all)).map(([group]) => group));
  const shown = blocks.filter((block) => {
    const group = groupOf.get(block);
    return group === undefined || (texts.has(group) && !isLinks(block));
  });
  return shown.length > 0 ? shown : blocks;
}

/** Whether the blocks of an aside, or of a run outside of the main part, are text. */
function isText(blocks: readonly PageBlock[]): boolean {
  const { aside } = blocks[0]!;
  if (aside?.isBanner) return false;
  const own = blocks.filter((block) => !isLinks(block));
  if (aside && 2 * sum(blocks, linkedOf) >= sum(blocks, wordsOf)) return false;
  if (aside?.isInText) return true;
  const isSection = own.some(({ level }, i) => level > 0 && own[i + 1]?.level === 0);
  return isSection || sum(own, wordsOf) >= MIN_WORDS;
}

const wordsOf = ({ text }: PageBlock): number => countWords(text);
const linkedOf = ({ linked }: PageBlock): number => linked;
const sum = (blocks: readonly PageBlock[], of: (block: PageBlock) => number): number =>
  blocks.reduce((total, block) => total + of(block), 0);

const isLinks = (block: PageBlock): boolean => 2 * block.linked >= wordsOf(block);

/** Says how many words of a page are left out that are no links. */
function reportLoss(
  file: SourceFile,
  blocks: readonly PageBlock[],
  shown: ReadonlySet<PageBlock>,
): void {
  const left = blocks.filter((block) => !shown.has(block));
  const words = sum(left, wordsOf) - sum(left, linkedOf);
  if (words < MIN_WORDS) return;
  file.report(
    new InputError({
      where: file.path,
      expected: "text",
      got: `${words} words of banners, menus and footers`,
      remedy: "these are left out, the rest is read",
    }),
  );
}
