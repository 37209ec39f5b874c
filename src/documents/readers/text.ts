/** Plain text: paragraphs between blank lines. */

import type { Block, Document } from "../document.ts";
import type { SourceFile } from "../source-file.ts";

export async function* readPlainText(file: SourceFile): AsyncGenerator<Document> {
  const text = await file.text();
  yield { title: "", blocks: paragraphs(text) };
}

function* paragraphs(text: string): Generator<Block> {
  let first = 1;
  let lines: string[] = [];
  const block = (): Block => ({
    text: lines.join("\n"),
    headings: [],
    lines: [first, first + lines.length - 1],
  });
  for (const { line, number } of numberedLines(text)) {
    if (line.trim() !== "") {
      if (lines.length === 0) first = number;
      lines.push(line);
    } else if (lines.length > 0) {
      yield block();
      lines = [];
    }
  }
  if (lines.length > 0) yield block();
}

/** The lines of a text, without their line breaks. */
export function* numberedLines(text: string): Generator<{ line: string; number: number }> {
  let number = 1;
  for (let start = 0; start <= text.length; number++) {
    const end = text.indexOf("\n", start);
    yield { line: text.slice(start, end === -1 ? text.length : end), number };
    if (end === -1) return;
    start = end + 1;
  }
}
