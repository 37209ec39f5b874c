/**
 * HTML: the text that a browser shows, under its headings. Scripts, forms and hidden elements are
 * left out; of a web page also navigation, footers, asides and cookie banners, and what is outside
 * of its main part.
 *
 * Markdown, books and notebooks are read as HTML too, so all formats have the same blocks.
 *
 * Source: HTML Standard, 15.3 (elements that are blocks or not rendered).
 */

import { countWords } from "../../text/units.ts";
import type { Budget } from "../file/budget.ts";
import type { SourceFile } from "../file/source-file.ts";
import type { Document, Place } from "../tree/document.ts";
import { HtmlBlocks, type PageBlock } from "../tree/html-blocks.ts";
import { addElements } from "../tree/html-tree.ts";
import { type Element, find, type LineAt, parseHtml, textContent } from "../tree/markup.ts";
import { Outline } from "../tree/outline.ts";

/** A page keeps all of its words if its main part has less than this share of them. */
const MAIN_SHARE = 0.2;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const root = await parseHtml(await file.text(), file.budget);
  const outline = new Outline();
  const walker = new HtmlBlocks(file.budget, true);
  walker.read(root);
  for (const { level, text, details } of mainBlocks(walker.blocks))
    if (level > 0) outline.heading(level, text, details);
    else outline.text(text, details);
  yield outline.document(pageTitle(root));
}

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
 * The blocks of `main`, else of `article`, without navigation, footers and asides. Where they have
 * less than a fifth of the words, all blocks. Links of a navigation do not count as words.
 */
function mainBlocks(blocks: readonly PageBlock[]): readonly PageBlock[] {
  const content = blocks.filter(({ isAside }) => !isAside);
  for (const part of ["main", "article"] as const) {
    const main = content.filter((block) => block.part === part || block.part === "main");
    if (main.length > 0 && wordsOf(main) >= MAIN_SHARE * wordsOf(content)) return main;
  }
  return wordsOf(content) >= MAIN_SHARE * wordsOf(blocks) ? content : blocks;
}

const wordsOf = (blocks: readonly PageBlock[]): number =>
  blocks.reduce(
    (sum, { text, isAside, linked }) => sum + countWords(text) - (isAside ? linked : 0),
    0,
  );
