/**
 * Markdown, with GitHub's tables, footnotes, definition lists, alerts and front matter, and MDX.
 * markdown-it makes HTML of it, which is read as all HTML is.
 *
 * Source: https://spec.commonmark.org/0.31.2, https://github.github.com/gfm, https://mdxjs.com
 */

import type { Env, MarkdownIt } from "markdown-it";
import type { Budget } from "../file/budget.ts";
import type { SourceFile } from "../file/source-file.ts";
import type { Document, Place } from "../tree/document.ts";
import type { LineAt } from "../tree/markup.ts";
import { Outline } from "../tree/outline.ts";
import { numberedLines } from "../tree/plain-text.ts";
import { addHtml } from "./html.ts";
import { createMarkdown, createMdx } from "./markdown/dialect.ts";
import { frontMatter } from "./markdown/front-matter.ts";

/** A chapter has 100 kB. Longer texts are parsed in parts, between which signals are handled. */
const PART_LENGTH = 500_000; // characters

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const text = await file.text();
  const { lines, title, metadata } = frontMatter(text);
  const outline = new Outline();
  const dialect = /\.mdx(\.gz)?$/i.test(file.name) ? createMdx() : createMarkdown();
  await addMarkdown(text, outline, file.budget, { dialect, skippedLines: lines });
  yield { ...outline.document(title), metadata };
}

interface MarkdownPlace {
  readonly dialect?: MarkdownIt;
  /** Lines of front matter, which are not read. */
  readonly skippedLines?: number;
  /** Whether the lines of the text are those of the file. */
  readonly hasLines?: boolean;
  readonly place?: Place;
}

export async function addMarkdown(
  text: string,
  outline: Outline,
  budget: Budget,
  { dialect = createMarkdown(), skippedLines = 0, hasLines = true, place }: MarkdownPlace = {},
): Promise<void> {
  const env: Env = {}; // link definitions of all parts
  for (const part of partsOf(text, skippedLines)) {
    const { html, lineAt } = render(dialect, part.text, env, part.first);
    await addHtml(html, outline, budget, hasLines ? lineAt : () => 0, place);
    await budget.pause();
  }
}

/** Parts that end before headings or blank lines, outside of fenced code. */
function* partsOf(text: string, skipped: number): Generator<{ text: string; first: number }> {
  let [first, lines, length, fence] = [skipped + 1, [] as string[], 0, ""];
  for (const { line, number } of numberedLines(text)) {
    if (number <= skipped) continue;
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark && fence === "") fence = mark;
    else if (mark?.startsWith(fence)) fence = "";
    if (length > PART_LENGTH && fence === "" && line.trim() === "") {
      yield { text: lines.join("\n"), first };
      [first, lines, length] = [number, [], 0];
    }
    lines.push(line);
    length += line.length + 1;
  }
  yield { text: lines.join("\n"), first };
}

/** At a position of the HTML stands what the Markdown has on a line, and it ends on line `last`. */
interface Anchor {
  readonly at: number;
  readonly line: number;
  readonly last: number;
}

function render(
  md: MarkdownIt,
  text: string,
  env: Env,
  firstLine: number,
): { html: string; lineAt: LineAt } {
  const tokens = md.parse(text, env);
  const anchors: Anchor[] = [];
  const parts: string[] = [];
  let length = 0;
  const add = (html: string): void => {
    parts.push(html);
    length += html.length;
  };
  for (const [i, token] of tokens.entries()) {
    const [from = 0, to = 0] = token.map ?? [];
    const anchor = (line: number): void => {
      if (token.map) anchors.push({ at: length, line, last: firstLine + to - 1 });
    };
    if (token.type === "fence" || token.type === "code_block") {
      add("<pre>");
      anchor(firstLine + from + (token.type === "fence" ? 1 : 0));
      add(`${md.utils.escapeHtml(token.content)}</pre>`);
      continue;
    }
    anchor(firstLine + from);
    if (token.type === "inline") add(md.renderer.renderInline(token.children!, md.options, env));
    else {
      const rule = md.renderer.rules[token.type];
      add(
        rule
          ? rule(tokens, i, md.options, env, md.renderer)
          : md.renderer.renderToken(tokens, i, md.options),
      );
    }
  }
  const html = parts.join("");
  return { html, lineAt: lineFinder(html, anchors) };
}

/** The lines of positions that ascend: that of the last anchor, and the line breaks since. */
function lineFinder(html: string, anchors: readonly Anchor[]): LineAt {
  let [next, line, last] = [0, 1, 1];
  let lineBreak = 0;
  return (position) => {
    for (; (anchors[next]?.at ?? Infinity) <= position; next++) {
      ({ line, last } = anchors[next]!);
      lineBreak = html.indexOf("\n", anchors[next]!.at);
    }
    for (; lineBreak !== -1 && lineBreak < position; lineBreak = html.indexOf("\n", lineBreak + 1))
      line++;
    return Math.min(line, last);
  };
}
