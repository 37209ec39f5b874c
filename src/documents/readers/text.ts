/**
 * Plain text: records of a line each, or blocks below headings. A heading is underlined, has the
 * number of a section, or is one of a manual page: in capitals, or above lines that are indented
 * further.
 */

import type { SourceFile } from "../file/source-file.ts";
import type { Block, Document } from "../tree/document.ts";
import { lineTable } from "../tree/line-table.ts";
import { Outline } from "../tree/outline.ts";
import { blocksOfChunk, type Chunk, chunksOf, indentOf, joinedLists } from "../tree/plain-text.ts";

const MAX_HEADING_LENGTH = 100; // characters
/** `3. Overview`, `2.7. How can I …`, `4.2 Names`, `A.1. Notes` */
const NUMBERED = /^ {0,3}((?:\d{1,3}|[A-Z](?=\.\d))(?:\.\d{1,3}){0,5})\.?\s+(?=\p{L}|["'“(])/u;
/** The headings of manual pages and of texts without other marks. */
const CAPITALS = /^(?=.*\p{Lu}{2})[\p{Lu}\p{N} ,&/()'-]{2,60}$/u;
/** Two or three spaces before a heading of a manual page whose text is indented by seven. */
const INNER = /^ {2,4}(?=\S)/;
const TEXT_OF_MANUAL = 6;

interface Heading {
  readonly level: number;
  readonly text: string;
  /** Lines of the chunk. */
  readonly lines: number;
}

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const text = await file.text();
  const table = lineTable(text);
  if (!table) yield textDocument(text);
  else
    for (const document of table) {
      file.budget.spend("records");
      await file.budget.pause();
      yield document;
    }
}

export function textDocument(text: string): Document {
  const outline = new Outline();
  const chunks = chunksOf(text);
  let open: Block[] = [];
  let term: { readonly text: string; readonly indent: number } | undefined;
  const close = (): void => {
    outline.blocks(joinedLists(open));
    [open, term] = [[], undefined];
  };
  for (let chunk = chunks.next().value, next: Chunk | undefined; chunk; chunk = next) {
    next = chunks.next().value;
    const { lines, first } = chunk;
    let at = 0;
    for (;;) {
      const heading = headingOf(lines, at, next);
      if (!heading) break;
      close();
      outline.heading(heading.level, heading.text, { lines: [[0, first + at]] });
      at += heading.lines;
    }
    if (at === lines.length) continue;
    const indent = indentOf(lines[at]!);
    if (term && indent <= term.indent) term = undefined;
    for (const block of blocksOfChunk({ lines: lines.slice(at), first: first + at })) {
      open.push(term && !block.term ? { ...block, term: term.text } : block);
      if (block.kind === "term") term = { text: block.text, indent };
    }
  }
  close();
  return { title: "", blocks: outline.allBlocks() };
}

/** The heading on line `at` of a chunk. */
function headingOf(
  lines: readonly string[],
  at: number,
  next: Chunk | undefined,
): Heading | undefined {
  const [line, below = ""] = [lines[at], lines[at + 1]];
  if (line === undefined) return undefined;
  return (
    underlined(line, below) ??
    capitals(lines, at) ??
    inner(line, below) ??
    (at === 0 ? numbered(lines, next) : undefined)
  );
}

/** A first line that the second one underlines. */
function underlined(title: string, line: string): Heading | undefined {
  if (!/^(?:={3,}|-{3,}|~{3,})[ \t]*$/.test(line) || !isShort(title)) return undefined;
  if (!/\p{L}/u.test(title) || Math.abs(title.trim().length - line.trim().length) > 3)
    return undefined;
  return { level: line.startsWith("=") ? 1 : 2, text: title.trim(), lines: 2 };
}

const isShort = (title: string): boolean =>
  title.length <= MAX_HEADING_LENGTH && !/\S(?:\t+| {3,}| \| )\S/.test(title);

/** `CONFIGURATION FILE DIRECTIVES` alone, or above text that is indented. */
function capitals(lines: readonly string[], at: number): Heading | undefined {
  const line = lines[at]!;
  const text = line.trim();
  if (indentOf(line) > 0 || !CAPITALS.test(text)) return undefined;
  for (let i = at + 1; i < lines.length; i++) if (indentOf(lines[i]!) === 0) return undefined;
  return { level: 1, text, lines: 1 };
}

/** A line that is indented a little, above lines that are indented as the text of a manual page. */
function inner(line: string, below: string): Heading | undefined {
  const text = line.trim();
  const isAbove = indentOf(below) > TEXT_OF_MANUAL && below.trim() !== "";
  if (!isAbove || !INNER.test(line) || !isShort(text) || /^\W/.test(text)) return undefined;
  return { level: 2, text, lines: 1 };
}

/** A numbered line alone, if the next one does not count on: that is a list. */
function numbered(lines: readonly string[], next: Chunk | undefined): Heading | undefined {
  const [, number] = NUMBERED.exec(lines[0]!) ?? [];
  if (number === undefined || lines.length > 2 || !next) return undefined;
  const text = lines.map((line) => line.trim()).join(" ");
  if (!isShort(text) || /[.:;,]$/.test(text)) return undefined;
  const depth = number.split(".").length;
  const [, after] = NUMBERED.exec(next.lines[0]!) ?? [];
  const isItem = depth === 1 && after?.split(".").length === 1;
  return isItem ? undefined : { level: depth, text, lines: lines.length };
}
