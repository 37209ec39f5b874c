/** Plain text: paragraphs between blank lines. Lists and tables in it keep their lines. */

import type { SourceFile } from "../file/source-file.ts";
import type { Block, Document } from "../tree/document.ts";
import { consecutiveLines } from "../tree/outline.ts";

/** `- item`, `3. item`, `b) item`, `* item` */
const ITEM = /^[ \t]{0,20}(?:[-*•·–+]|\(?(?:\d{1,4}|[a-z])[.)])[ \t]/i;
/** Columns are separated by tabs, bars or three spaces. */
const COLUMNS = /\S(?:\t+| {3,}| \| )\S/;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  yield { title: "", blocks: paragraphs(await file.text()) };
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
      yield block(lines, start);
      lines = [];
    }
  }
  if (lines.length > 0) yield block(lines, start);
}

function block(lines: readonly string[], first: number): Block {
  const text = lines.join("\n");
  const kind = kindOf(lines);
  return {
    text,
    ...(kind && { kind }),
    headings: [],
    lines: [...consecutiveLines(text, first)],
  };
}

/** Most lines of a list begin with a mark, those of a table have columns. */
function kindOf(lines: readonly string[]): "list" | "table" | undefined {
  if (lines.length < 2) return undefined;
  const count = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  if (count(ITEM) > 0.5 * lines.length) return "list";
  return count(COLUMNS) > 0.7 * lines.length ? "table" : undefined;
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
