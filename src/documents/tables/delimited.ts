/**
 * Rows of CSV and similar tables, in the forms that programs and people write.
 *
 * A parser of its own, because a row must stop at the limits while it is read, and because a quote
 * that is not closed must cost no row: the cell is then what is written, and the file goes on.
 *
 * Source: RFC 4180. Beyond it: spaces around quotes, quotes inside of a cell that are no marks, and
 * `\"` in a quoted cell (Spark, MySQL). TSV has no quotes (IANA text/tab-separated-values), but
 * Excel puts a cell in quotes that has a comma, a quote, a tab or a line break.
 */

import { InputError } from "../../io/errors.ts";
import type { Budget } from "../file/budget.ts";

/** A chapter of a book has 50,000. */
const MAX_ROW_LENGTH = 2 ** 20; // characters
const MAX_COLUMNS = 10_000;

export interface Row {
  /** What a person sees in each cell. */
  readonly cells: readonly string[];
  /** Of cells that show a number in a form of its own: the number, for filters. */
  readonly values?: readonly (string | undefined)[];
  /** The first and the last line of the row in the file. */
  readonly lines: readonly [first: number, last: number];
}

/** How the rows of a text are written. */
export interface Layout {
  readonly separator: string;
  /** The position of the first row, after a line `sep=;`. Default: 0. */
  readonly start?: number;
  /** Whether only those cells are in quotes that Excel puts there. Default: false. */
  readonly isTabbed?: boolean;
  /** Whether `\"` in a quoted cell is a quote of its text. Default: false. */
  readonly hasEscapes?: boolean;
}

/** @throws {InputError} for a row that is too long or has too many columns */
export function* parseRows(
  text: string,
  layout: Layout,
  where: string,
  budget: Budget,
): Generator<Row, void> {
  const scanner = new Scanner(text, layout, where, budget);
  while (!scanner.isAtEnd) yield scanner.row();
}

class Scanner {
  readonly #text: string;
  readonly #layout: Layout;
  readonly #separator: string;
  readonly #where: string;
  readonly #budget: Budget;
  #at: number;
  #line = 1;
  /** The number of columns of the first row. */
  #width: number | undefined;
  /** The next separator and line break at or after `#at`; the end without one. */
  #nextSeparator = -1;
  #nextBreak = -1;
  /**
   * The end of the last line with a quote that is not closed. Quotes inside of cells are no longer
   * sought there, so that the time grows with the length of the text.
   */
  #strictUntil = -1;

  constructor(text: string, layout: Layout, where: string, budget: Budget) {
    this.#text = text;
    this.#layout = layout;
    this.#separator = layout.separator;
    this.#where = where;
    this.#budget = budget;
    this.#at = layout.start ?? 0;
    this.#line += text.slice(0, this.#at).split("\n").length - 1;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  row(): Row {
    const [first, start] = [this.#line, this.#at];
    const cells: string[] = [];
    for (let isOpen = true; isOpen; ) {
      if (cells.length === MAX_COLUMNS) throw tooWide(this.#where, first);
      this.#budget.spend("cells");
      const quoted = this.#isQuoted() ? this.#quotedCell(cells.length) : undefined;
      cells.push(quoted ?? this.#plainCell());
      if (this.#at - start > MAX_ROW_LENGTH) throw tooLong(this.#where, first);
      isOpen = this.#text[this.#at] === this.#separator;
      this.#at++;
    }
    this.#width ??= cells.length;
    const last = this.#line;
    this.#line++;
    return { cells, lines: [first, last] };
  }

  /** Whether the next cell begins with a quote, after spaces. */
  #isQuoted(): boolean {
    return this.#text[this.#skipSpaces(this.#at)] === '"';
  }

  #skipSpaces(from: number): number {
    let at = from;
    while (this.#text[at] === " ") at++;
    return at;
  }

  #plainCell(): string {
    const end = this.#cellEnd(this.#at);
    const cell = this.#text.slice(this.#at, end);
    this.#at = end;
    return cell.trim();
  }

  #cellEnd(from: number): number {
    if (this.#nextSeparator < from) this.#nextSeparator = this.#find(this.#separator, from);
    return Math.min(this.#nextSeparator, this.#lineEnd(from));
  }

  #lineEnd(from: number): number {
    if (this.#nextBreak < from) this.#nextBreak = this.#find("\n", from);
    return this.#nextBreak;
  }

  #find(mark: string, from: number): number {
    const found = this.#text.indexOf(mark, from);
    return found === -1 ? this.#text.length : found;
  }

  /** Undefined if the quote is not closed before a separator or the end of the row. */
  #quotedCell(column: number): string | undefined {
    const text = this.#text;
    const start = this.#skipSpaces(this.#at) + 1;
    const lineEnd = this.#lineEnd(start);
    let isStray = false; // a quote inside of the cell, so that the cell ends on this line
    for (let at = text.indexOf('"', start); at !== -1; at = text.indexOf('"', at + 1)) {
      if (at - start > MAX_ROW_LENGTH || (isStray && at > lineEnd)) break;
      const isInside = this.#isEscaped(at, start) ? 1 : text[at + 1] === '"' ? 2 : 0;
      if (isInside > 0) {
        if (start < this.#strictUntil && at > this.#cellEnd(start)) break;
        at += isInside - 1;
        continue;
      }
      const end = this.#skipSpaces(at + 1);
      if (end >= text.length || text[end] === this.#separator || text[end] === "\n") {
        const cell = text.slice(start, at);
        if (this.#layout.isTabbed && !this.#isOfExcel(cell, column, end)) break;
        this.#at = end;
        return this.#unquoted(cell);
      }
      if (at > lineEnd || at < this.#strictUntil || this.#layout.isTabbed) break;
      isStray = true;
    }
    this.#strictUntil = lineEnd;
    return undefined;
  }

  /**
   * Whether Excel puts this cell in quotes. A cell of several lines has no tab, and stands where
   * the row goes on as the first one does: its quotes can also be those of two rows.
   */
  #isOfExcel(cell: string, column: number, end: number): boolean {
    if (!cell.includes("\n")) return /[",\t]/.test(cell);
    if (cell.includes("\t")) return false;
    const isLast = this.#text[end] !== this.#separator;
    const width = this.#width ?? (isLast ? column + 1 : column + 2);
    return width > 1 && isLast === (column + 1 === width);
  }

  /** Whether an odd number of backslashes is before a quote. */
  #isEscaped(quote: number, start: number): boolean {
    if (!this.#layout.hasEscapes) return false;
    let first = quote;
    while (first > start && this.#text[first - 1] === "\\") first--;
    return (quote - first) % 2 === 1;
  }

  #unquoted(cell: string): string {
    this.#line += cell.split("\n").length - 1;
    const plain = this.#layout.hasEscapes ? cell.replaceAll('\\"', '"') : cell;
    return plain.replaceAll('""', '"');
  }
}

const tooLong = (where: string, line: number): InputError =>
  new InputError({
    where: `${where}:${line}`,
    expected: `a row of at most ${MAX_ROW_LENGTH} characters`,
    got: "a longer one",
    remedy: "check the quotes, or split the row",
  });

const tooWide = (where: string, line: number): InputError =>
  new InputError({
    where: `${where}:${line}`,
    expected: `at most ${MAX_COLUMNS} columns`,
    got: "more",
    remedy: "check the file, or ignore it",
  });

const SEPARATORS = [",", ";", "\t", "|"];
/** Lines that the separator is guessed from. */
const SAMPLE_LINES = 50;
const SAMPLE_LENGTH = 50_000;

/** `\"` before something else than the end of a cell, as in `"the \"red\" one"`. */
const ESCAPED_QUOTE = /\\"(?![\s",;|])/;

/** The separator that `sep=` names, else the one that divides most lines into as many cells. */
export function layoutOf(text: string, isTabbed: boolean): Layout {
  const hasEscapes = ESCAPED_QUOTE.test(text);
  const [line, named] = /^sep=([^\n])[ \t]*(?:\n|$)/i.exec(text) ?? [];
  if (named !== undefined) return { separator: named, start: line!.length, hasEscapes };
  if (isTabbed) return { separator: "\t", isTabbed };
  const lines = text
    .slice(0, SAMPLE_LENGTH)
    .replace(/"[^"]*"/g, '""')
    .split("\n")
    .slice(0, SAMPLE_LINES)
    .filter((one) => one.trim() !== "" && !one.startsWith("#"));
  const best = SEPARATORS.map((separator) => ({ separator, score: agreement(lines, separator) }));
  const { separator } = best.reduce((a, b) => (b.score > a.score ? b : a));
  return { separator, hasEscapes };
}

/** How many lines have the most frequent number of separators, which counts a little too. */
function agreement(lines: readonly string[], separator: string): number {
  const counts = new Map<number, number>();
  for (const line of lines) {
    const count = line.split(separator).length - 1;
    if (count > 0) counts.set(count, (counts.get(count) ?? 0) + 1);
  }
  let best = 0;
  for (const [count, times] of counts) best = Math.max(best, times + Math.min(count, 50) / 100);
  return best;
}
