/**
 * Rows of CSV and similar tables, in the forms that programs and people write.
 *
 * A parser of its own, because a row must stop at the limits while it is read, and an open quote
 * must be reported with the line where it began.
 *
 * Source: RFC 4180. Beyond it: spaces around quotes, and quotes inside of a cell that are no marks.
 */

import { InputError } from "../../io/errors.ts";
import type { Budget } from "../file/budget.ts";

/** A chapter of a book has 50,000. */
const MAX_ROW_LENGTH = 2 ** 20; // characters
const MAX_COLUMNS = 10_000;

export interface Row {
  readonly cells: readonly string[];
  /** The first and the last line of the row in the file. */
  readonly lines: readonly [first: number, last: number];
}

/** @throws {InputError} for a row that is too long, and for a cell whose quote is not closed */
export function* parseRows(
  text: string,
  separator: string,
  where: string,
  budget: Budget,
  start = 0,
): Generator<Row, void> {
  const scanner = new Scanner(text, separator, where, budget, start);
  while (!scanner.isAtEnd) yield scanner.row();
}

class Scanner {
  readonly #text: string;
  readonly #separator: string;
  readonly #where: string;
  readonly #budget: Budget;
  #at: number;
  #line = 1;
  /** The next separator, quote mark and line break at or after `#at`; the end without one. */
  #nextSeparator = -1;
  #nextBreak = -1;

  constructor(text: string, separator: string, where: string, budget: Budget, start: number) {
    this.#text = text;
    this.#separator = separator;
    this.#where = where;
    this.#budget = budget;
    this.#at = start;
    this.#line += text.slice(0, start).split("\n").length - 1;
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
      cells.push(this.#isQuoted() ? this.#quotedCell() : this.#plainCell());
      if (this.#at - start > MAX_ROW_LENGTH) throw tooLong(this.#where, first);
      isOpen = this.#text[this.#at] === this.#separator;
      this.#at++;
    }
    const last = this.#line;
    this.#line++;
    return { cells, lines: [first, last] };
  }

  /** Whether the next cell begins with a quote, after spaces. */
  #isQuoted(): boolean {
    const at = this.#skipSpaces(this.#at);
    return this.#text[at] === '"';
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
    const position = (found: number): number => (found === -1 ? this.#text.length : found);
    if (this.#nextSeparator < from)
      this.#nextSeparator = position(this.#text.indexOf(this.#separator, from));
    if (this.#nextBreak < from) this.#nextBreak = position(this.#text.indexOf("\n", from));
    return Math.min(this.#nextSeparator, this.#nextBreak);
  }

  #quotedCell(): string {
    const text = this.#text;
    const opening = this.#line;
    const start = this.#skipSpaces(this.#at) + 1;
    for (let at = text.indexOf('"', start); at !== -1; at = text.indexOf('"', at + 1)) {
      if (at - start > MAX_ROW_LENGTH) throw tooLong(this.#where, opening);
      if (text[at + 1] === '"') {
        at++;
        continue;
      }
      const end = this.#skipSpaces(at + 1);
      const isClosed = end >= text.length || text[end] === this.#separator || text[end] === "\n";
      const cell = text.slice(start, at);
      const breaks = isClosed || cell.includes("\n") ? cell.split("\n").length - 1 : 0;
      if (isClosed) {
        this.#line += breaks;
        this.#at = end;
        return cell.replaceAll('""', '"');
      }
      if (breaks > 0) throw openQuote(this.#where, opening);
    }
    throw openQuote(this.#where, opening);
  }
}

const openQuote = (where: string, line: number): InputError =>
  new InputError({
    where: `${where}:${line}`,
    expected: "a row of a table",
    got: "a cell whose quote is not closed, so that it takes up the rows below",
    remedy: 'close the quote, or write "" for a quote inside of a cell',
  });

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

export interface Layout {
  readonly separator: string;
  /** The position of the first row, after a line `sep=;`. */
  readonly start: number;
}

/** The separator that `sep=` names, else the one that divides most lines into as many cells. */
export function layoutOf(text: string, isTabbed: boolean): Layout {
  const [line, named] = /^sep=([^\n])[ \t]*(?:\n|$)/i.exec(text) ?? [];
  if (named !== undefined) return { separator: named, start: line!.length };
  if (isTabbed) return { separator: "\t", start: 0 };
  const lines = text
    .slice(0, SAMPLE_LENGTH)
    .replace(/"[^"]*"/g, '""')
    .split("\n")
    .slice(0, SAMPLE_LINES)
    .filter((one) => one.trim() !== "" && !one.startsWith("#"));
  const best = SEPARATORS.map((separator) => ({ separator, score: agreement(lines, separator) }));
  return { separator: best.reduce((a, b) => (b.score > a.score ? b : a)).separator, start: 0 };
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
