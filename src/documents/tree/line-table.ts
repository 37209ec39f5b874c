/**
 * Tables of plain text with a record on each line and comments (`#`) between them, such as
 * `/etc/services`, `mime.types` and `passwd`. Columns are separated by tabs, by two spaces or by
 * colons; `# …` behind a record is its comment.
 */

import type { Document } from "./document.ts";
import { numberedLines } from "./plain-text.ts";

const MIN_ROWS = 5;
/** The share of lines that have the form of the others, and of those with several columns. */
const [SHARE, FILLED] = [0.95, 0.15];
const COMMENT = /^\s*[#!](?!\S*!)/;
const MARKS = /^[\s#!*=-]*$/;
const BESIDE = /\s#+(?:\s+|$)/;
/** A name, and columns behind it; or a name, a value and a comment. */
const COLUMNS = /^\S+(?:$|(?:\s\S+)?(?:\t| {2}|\s+#))/;
const SEVERAL = /^\s*\S+(?:\t\s*| {2,})\S/;
const MAX_HEADING_LENGTH = 60; // characters

interface Line {
  readonly line: string;
  readonly number: number;
}

/** The documents of the rows and of the comments; undefined for a text of another form. */
export function lineTable(text: string): Generator<Document> | undefined {
  const lines = Array.from(numberedLines(text), ({ line, number }) => ({ line, number }));
  const rows = lines.filter(({ line }) => isRow(line)).map(({ line }) => line);
  const adjacent = lines.filter(({ line }, i) => isRow(line) && isRow(lines[i - 1]?.line ?? ""));
  if (rows.length < MIN_ROWS || adjacent.length < 0.5 * rows.length) return undefined;
  if (isColonTable(rows)) return documentsOf(lines, (row) => ({ cells: row.split(":") }));
  return isColumnTable(rows, lines) ? documentsOf(lines, cellsOf) : undefined;
}

const isRow = (line: string): boolean => line.trim() !== "" && !COMMENT.test(line);

/** The same number of fields on each line, three or more, and no text with a colon. */
function isColonTable(rows: readonly string[]): boolean {
  const counts = new Map<number, number>();
  for (const row of rows) {
    const count = /:\s|\s:/.test(row) ? 0 : row.split(":").length;
    counts.set(count, (counts.get(count) ?? 0) + 1);
  }
  const [fields = 0, most = 0] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [];
  return fields >= 3 && most >= SHARE * rows.length;
}

function isColumnTable(rows: readonly string[], lines: readonly Line[]): boolean {
  const hasComment = lines.some(({ line }) => COMMENT.test(line) || BESIDE.test(line));
  const formed = rows.filter((row) => COLUMNS.test(row.trim())).length;
  const filled = rows.filter((row) => SEVERAL.test(row) || BESIDE.test(row)).length;
  return hasComment && formed >= SHARE * rows.length && filled >= FILLED * rows.length;
}

interface Row {
  readonly cells: readonly string[];
  readonly comment?: string;
}

function cellsOf(row: string): Row {
  const beside = BESIDE.exec(row);
  const own = beside ? row.slice(0, beside.index) : row;
  const comment = beside ? row.slice(beside.index + beside[0].length).trim() : "";
  const cells = own.trim().split(/\t\s*| {2,}/);
  const [first = "", ...others] = cells;
  // a name, a value and a comment, with a space between them
  const all = beside && others.length === 0 ? first.split(/\s/) : cells;
  return { cells: all, comment };
}

function* documentsOf(lines: readonly Line[], parse: (row: string) => Row): Generator<Document> {
  let comment: Line[] = [];
  let [heading, names]: [string, readonly string[]] = ["", []];
  for (const { line, number } of lines) {
    if (!isRow(line)) {
      if (line.trim() !== "") comment.push({ line: plain(line), number });
      else yield* commentDocument(comment.splice(0));
      continue;
    }
    const shown = comment.filter((one) => !MARKS.test(one.line));
    const found = headOf(shown.at(-1)?.line ?? "");
    if (found) {
      names = found;
      shown.pop();
    }
    if (shown.length === 1 && isHeading(shown[0]!.line)) heading = shown[0]!.line;
    else if (shown.length > 0) {
      heading = "";
      yield* commentDocument(shown);
    }
    comment = [];
    yield rowDocument(parse(line.trimEnd()), names, heading, number);
  }
  yield* commentDocument(comment);
}

const plain = (line: string): string => line.replace(/^\s*[#!]+\s?/, "").trim();

const isHeading = (line: string): boolean =>
  line.length <= MAX_HEADING_LENGTH && !/[.:;,]$/.test(line);

/** The names of columns in a comment: `<name> <number>`, or words as far apart as the columns. */
function headOf(line: string): readonly string[] | undefined {
  const marked = Array.from(line.matchAll(/<([^<>]{1,30})>/g), ([, name]) => name!);
  if (marked.length > 1) return marked;
  const cells = line.split(/\t\s*| {2,}/).filter((cell) => cell !== "");
  const areNames = cells.length > 1 && cells.every((cell) => /^\p{L}[\p{L} _-]{0,29}$/u.test(cell));
  return areNames ? cells : undefined;
}

function* commentDocument(lines: readonly Line[]): Generator<Document> {
  const shown = lines.filter(({ line }) => !MARKS.test(line));
  if (shown.length === 0) return;
  let text = "";
  const marks: [number, number][] = [];
  for (const { line, number } of shown) {
    if (text !== "") text += " ";
    marks.push([text.length, number]);
    text += line;
  }
  const blocks = [{ text, headings: [], lines: marks }];
  yield { record: `line ${shown[0]!.number}`, title: "", blocks };
}

/** A row with names of columns is `name: value` lines, and its comment below them. */
function rowDocument(
  { cells, comment = "" }: Row,
  names: readonly string[],
  heading: string,
  number: number,
): Document {
  const named = cells.map((cell, i) => (names[i] ? `${names[i]}: ${cell}` : cell));
  const parts = [...named, comment].filter((part) => part !== "");
  const text = parts.join(names.length > 1 ? "\n" : " | ");
  const kind = names.length > 1 ? "list" : "table";
  const headings = heading === "" ? [] : [heading];
  const blocks = [{ text, kind, headings, lines: [[0, number]] } as const];
  return { record: `line ${number}`, title: "", blocks };
}
