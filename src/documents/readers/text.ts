/**
 * Plain text: paragraphs between blank lines, below headings that are underlined. Lists, tables and
 * conversations keep their lines.
 */

import type { SourceFile } from "../file/source-file.ts";
import { isContents } from "../tree/contents.ts";
import type { Block, Document } from "../tree/document.ts";
import { consecutiveLines, Outline } from "../tree/outline.ts";

/** `- item`, `3. item`, `b) item`, `* item` */
const ITEM = /^[ \t]{0,20}(?:[-*•·–+]|\(?(?:\d{1,4}|[a-z])[.)])[ \t]/i;
/** Columns are separated by tabs, bars or three spaces. */
const COLUMNS = /\S(?:\t+| {3,}| \| )\S/;
/** What somebody says at a time: `[09:00] Orla:`, `12/05/2024, 10:15 - Orla:`, `00:01:02 Orla`. */
const TIMED = /^[[(<]?(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}[,T]?\s?)?\d{1,2}:\d{2}(?::\d{2})?\b/;
/** `Orla Finn: `, of which a conversation has several lines. */
const SPEAKER = /^(\p{Lu}[\p{L}.'’-]{0,30}(?: [\p{L}.'’-]{1,30}){0,3}):\s+\S/u;
const MAX_HEADING_LENGTH = 100; // characters

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const outline = new Outline();
  for (const { text, headings: _, ...details } of paragraphs(await file.text())) {
    const heading = headingOf(text);
    if (!heading) {
      outline.text(text, details);
      continue;
    }
    const [first] = details.lines ?? [];
    outline.heading(heading.level, heading.text, first ? { lines: [first] } : {});
    const rest = text.slice(heading.length);
    if (rest.trim() !== "") outline.text(rest, belowHeading(rest, (first?.[1] ?? 1) + 2));
  }
  yield { title: "", blocks: outline.allBlocks() };
}

const belowHeading = (text: string, first: number): Pick<Block, "kind" | "lines"> => {
  const kind = kindOf(text.split("\n"));
  return { ...(kind && { kind }), lines: [...consecutiveLines(text, first)] };
};

/** A first line that the second one underlines. `length` is that of both. */
function headingOf(text: string): { level: number; text: string; length: number } | undefined {
  const [, title = "", line = ""] = /^([^\n]*)\n(={3,}|-{3,}|~{3,})[ \t]*(?=\n|$)/.exec(text) ?? [];
  if (line === "" || title.length > MAX_HEADING_LENGTH || COLUMNS.test(title)) return undefined;
  if (!/\p{L}/u.test(title) || Math.abs(title.trim().length - line.length) > 3) return undefined;
  const end = text.indexOf("\n", title.length + 1);
  const length = end === -1 ? text.length : end + 1;
  return { level: line.startsWith("=") ? 1 : 2, text: title, length };
}

/** @param first the line of the file that the text begins on */
export function* paragraphs(text: string, first = 1): Generator<Block> {
  let lines: string[] = [];
  let start = first;
  for (const { line, number } of numberedLines(text, first)) {
    if (line.trim() !== "") {
      if (lines.length === 0) start = number;
      lines.push(line);
    } else if (lines.length > 0) {
      yield* block(lines, start);
      lines = [];
    }
  }
  if (lines.length > 0) yield* block(lines, start);
}

function* block(lines: readonly string[], first: number): Generator<Block> {
  if (isContents(lines)) return;
  const text = lines.join("\n");
  const kind = kindOf(lines);
  yield {
    text,
    ...(kind && { kind }),
    headings: [],
    lines: [...consecutiveLines(text, first)],
  };
}

/** Most lines of a list begin with a mark or a speaker, those of a table have columns. */
function kindOf(lines: readonly string[]): "list" | "table" | undefined {
  if (lines.length < 2) return undefined;
  const count = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  if (count(ITEM) > 0.5 * lines.length || isConversation(lines)) return "list";
  return count(COLUMNS) > 0.7 * lines.length ? "table" : undefined;
}

/** Half of the lines begin with a time, or with the names of people of whom one speaks twice. */
function isConversation(lines: readonly string[]): boolean {
  if (lines.filter((line) => TIMED.test(line)).length >= 0.5 * lines.length) return true;
  const speakers = lines.flatMap((line) => SPEAKER.exec(line)?.[1] ?? []);
  return speakers.length >= 0.5 * lines.length && new Set(speakers).size < speakers.length;
}

/** The lines of a text, without their line breaks. */
export function* numberedLines(
  text: string,
  first = 1,
): Generator<{ line: string; number: number }> {
  let number = first;
  for (let start = 0; start <= text.length; number++) {
    const end = text.indexOf("\n", start);
    yield { line: text.slice(start, end === -1 ? text.length : end), number };
    if (end === -1) return;
    start = end + 1;
  }
}
