/**
 * The text of a passage as a model reads it. Its tokens have no line breaks, and in `a | b | c` it
 * has to count bars to tell which column a value is of. So rows have the names of their columns,
 * and fields are divided by commas: of
 *
 *     Item | Price          Item: Tea
 *     --- | ---             Price: 2 EUR
 *     Tea | 2 EUR
 *
 * it reads `Item: Tea, Price: 2 EUR.` Only tables with a line of hyphens below the names, as in
 * Markdown, are read so. What people see is the text as it is.
 */

import { barsIn, isFieldOfSeveral } from "./cells.ts";

/** A text as it is read. */
export interface ReadingForm {
  readonly text: string;
  /**
   * For each character of `text`, where it is in the text that was given; -1 for one that was
   * added. Undefined if the text is read as it is.
   */
  readonly origin?: Int32Array | undefined;
  /** The same; for a name of a column that was added, where that name is above its column. */
  readonly named?: Int32Array | undefined;
}

/** The line of hyphens below the names of columns: `--- | ---`. */
export const tableRule = (columns: number): string => Array(columns).fill("---").join(" | ");

const HYPHENS = /^[ \t]*(?:\|[ \t]*)?:?-{3,}:?(?:[ \t]*\|[ \t]*:?-{3,}:?)+(?:[ \t]*\|)?[ \t]*$/u;

/** A text without the lines of hyphens of its tables. */
export const withoutTableRules = (text: string): string =>
  text
    .split("\n")
    .filter((line) => !HYPHENS.test(line))
    .join("\n");

/** A longer name says too much to be repeated in each row. */
const MAX_NAME_LENGTH = 60;
/** Lines of names above the hyphens. */
const MAX_NAME_LINES = 3;

interface Line {
  readonly text: string;
  /** Where it begins. */
  readonly at: number;
}

interface Cell {
  readonly text: string;
  readonly at: number;
}

/** The name of a column; empty if it has none that can be repeated. */
interface Name {
  readonly text: string;
  readonly at?: number | undefined;
}

/**
 * Gives the rows of tables the names of their columns, and ends fields with a comma.
 *
 * @example
 * readingForm("A | B\n--- | ---\n1 | 2").text; // "A: 1, B: 2."
 */
export function readingForm(text: string): ReadingForm {
  if (!text.includes("\n")) return { text };
  const lines = linesOf(text);
  const texts = lines.map((line) => line.text);
  const out = new Labelled();
  for (let i = 0; i < lines.length; ) {
    const table = tableAt(lines, i);
    if (table) {
      const { names, rows } = table;
      for (const row of rows) out.row(names, cellsOf(row));
      i = table.end;
    } else {
      const isInList = isFieldOfSeveral(texts, i);
      out.line(lines[i]!, isInList ? (isFieldOfSeveral(texts, i + 1) ? "," : ".") : "");
      i++;
    }
  }
  return out.isChanged ? out.finish() : { text };
}

function linesOf(text: string): Line[] {
  let at = 0;
  return text.split("\n").map((line) => {
    const start = at;
    at += line.length + 1;
    return { text: line, at: start };
  });
}

/** The table whose names begin on line `i`; undefined if none does. */
function tableAt(
  lines: readonly Line[],
  i: number,
): { names: Name[]; rows: Line[]; end: number } | undefined {
  let hyphens = i;
  while (hyphens - i < MAX_NAME_LINES && isRow(lines[hyphens])) hyphens++;
  if (hyphens === i || !HYPHENS.test(lines[hyphens]?.text ?? "")) return undefined;
  let end = hyphens + 1;
  while (isRow(lines[end])) end++;
  if (end === hyphens + 1) return undefined;
  const above = lines.slice(i, hyphens).map(cellsOf);
  const names = above.at(-1)!.map((_, column) => nameOf(above.flatMap((row) => row[column] ?? [])));
  return { names, rows: lines.slice(hyphens + 1, end), end };
}

const isRow = (line: Line | undefined): boolean =>
  line !== undefined && !HYPHENS.test(line.text) && barsIn(line.text).length > 0;

/** Of several lines of names: `2023 Revenue`, which stands in no place. */
function nameOf(parts: readonly Cell[]): Name {
  const filled = parts.filter(({ text }) => text !== "");
  const texts = [...new Set(filled.map(({ text }) => text))];
  const text = texts.join(" ");
  if (text.length > MAX_NAME_LENGTH) return { text: "" };
  return { text, at: texts.length === 1 ? filled.at(-1)!.at : undefined };
}

/** The cells of a row, also of one with bars at both ends. */
function cellsOf({ text, at }: Line): Cell[] {
  const bars = [-1, ...barsIn(text), text.length];
  const cells = bars.slice(1).map((bar, i) => {
    const cell = text.slice(bars[i]! + 1, bar);
    return { text: cell.trim(), at: at + bars[i]! + 1 + (cell.length - cell.trimStart().length) };
  });
  const isFramed = cells.length > 2 && /^\s*\|/.test(text) && /\|\s*$/.test(text);
  return isFramed ? cells.slice(1, -1) : cells;
}

/** A piece of what is read. */
interface Piece {
  readonly text: string;
  /** Where it is in the text that was given; undefined for what is added. */
  readonly at?: number | undefined;
  /** Of the name of a column, where that name is. */
  readonly named?: number | undefined;
}

/** Puts a text together as it is read. */
class Labelled {
  isChanged = false;
  readonly #pieces: Piece[] = [];

  /** @param mark ends the line, if it is not empty and the line has none */
  line({ text, at }: Line, mark: string): void {
    this.#break();
    this.#pieces.push({ text, at });
    if (mark !== "") this.#end(mark);
  }

  /** A row with more or fewer cells than there are names has no labels. */
  row(names: readonly Name[], cells: readonly Cell[]): void {
    this.isChanged = true;
    const isLabelled = names.length === cells.length;
    let isFirst = true;
    for (const [i, { text, at }] of cells.entries()) {
      if (text === "") continue;
      if (isFirst) this.#break();
      else this.#pieces.push({ text: ", " });
      if (isLabelled && names[i]!.text !== "")
        this.#pieces.push({ text: names[i]!.text, named: names[i]!.at }, { text: ": " });
      this.#pieces.push({ text, at });
      isFirst = false;
    }
    if (!isFirst) this.#end(".");
  }

  finish(): ReadingForm {
    const text = this.#pieces.map((piece) => piece.text).join("");
    const [origin, named] = [0, 1].map(() => new Int32Array(text.length).fill(-1));
    let start = 0;
    for (const { text, at, named: name } of this.#pieces) {
      for (let i = 0; i < text.length; i++) {
        if (at !== undefined) origin![start + i] = at + i;
        if (at !== undefined || name !== undefined) named![start + i] = (at ?? name!) + i;
      }
      start += text.length;
    }
    return { text, origin, named };
  }

  #end(mark: string): void {
    const last = this.#pieces.at(-1)!.text.trimEnd().at(-1);
    if (last === undefined || ".,!?:;".includes(last)) return;
    this.isChanged = true;
    this.#pieces.push({ text: mark });
  }

  #break(): void {
    if (this.#pieces.length > 0) this.#pieces.push({ text: "\n" });
  }
}
