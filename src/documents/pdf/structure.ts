/**
 * The headings, paragraphs and tables of the pages of a PDF file. The format has none of them:
 * sizes of fonts, bookmarks and repetition tell.
 */

import { tableRule } from "../../text/reading-form.ts";
import type { Budget } from "../file/budget.ts";
import { areNames } from "../tables/table-columns.ts";
import { isContents, pageOf } from "../tree/contents.ts";
import type { Block } from "../tree/document.ts";
import { Outline } from "../tree/outline.ts";
import type { Line, PageText } from "./page.ts";
import { withoutRunningHeads } from "./running-heads.ts";

/** An entry of the outline that a reader shows beside the pages. */
export interface Bookmark {
  readonly title: string;
  /** 1 for the outermost. */
  readonly level: number;
  /** Counted from 1. */
  readonly page: number;
}

/** A font is that of headings if it is larger than that of the text by this factor. */
const HEADING_SIZE = 1.15;
const MAX_LEVEL = 6;
/** Longer texts in large letters are no headings. */
const [MAX_HEADING_LENGTH, MAX_HEADING_LINES] = [200, 3];

/** Begins with a capital, a number, or a letter that has no case. */
const HEADING = /^[^\p{Ll}]/u;
/** The number of a section, which can stand as far from its title as a column. */
const NUMBER = /^(?:chapter |section |appendix )?[\dA-Z]{0,3}(?:\.\d{1,3}){0,6}[.:)]?\t/i;
/** Captions, and the letters in drawings. */
const LABEL = /^(?:fig(?:ure|\.)|table)\s*\d|^(?!.*(?:\p{L}{3}|\p{Lo})).*$/iu;

export async function outlineOf(
  pages: readonly PageText[],
  bookmarks: readonly Bookmark[],
  budget: Budget,
): Promise<Outline> {
  const kept = withoutRunningHeads(pages).map(withoutContents);
  const levels = new HeadingLevels(kept, bookmarks);
  const outline = new Outline();
  let open: { lines: Line[]; readonly place: Block["place"] } | undefined;
  const close = (): void => {
    if (open) outline.text(paragraphText(open.lines.map(textOf)), { place: open.place });
    open = undefined;
  };
  for (const [i, { lines, isSlide }] of kept.entries()) {
    const place = { page: i + 1, ...(isSlide && { isSlide }) };
    for (const { lines: own, level } of paragraphsOf(lines, (line) => levels.of(line, i + 1))) {
      for (const { text } of own) budget.spend("characters", text.length);
      const isOpen = open !== undefined && open.place?.page !== place.page;
      if (isOpen && !isSlide && level === undefined && goesOn(open!.lines, own)) {
        open!.lines.push(...own);
        continue;
      }
      close();
      if (level !== undefined)
        outline.heading(level, own.map(textOf).map(oneLine).join(" "), { place });
      else if (isTable(own)) outline.text(...tableBlock(rowsOf(own), place));
      else open = { lines: [...own], place };
    }
    await budget.pause();
  }
  close();
  return outline;
}

/** Whether a paragraph goes on at the top of the next page. */
function goesOn(before: readonly Line[], after: readonly Line[]): boolean {
  const [end, start] = [textOf(before.at(-1)!), textOf(after[0]!)];
  return /[\p{L}\p{N},;-]$/u.test(end) && /^\p{Ll}/u.test(start) && !isTable(after);
}

const textOf = ({ text }: Line): string => text.trim();

const isTable = (lines: readonly Line[]): boolean =>
  lines.length > 1 &&
  lines.filter((line) => textOf(line).includes("\t")).length > 0.6 * lines.length;

/** Wider tables have no columns that a person could read. */
const MAX_COLUMNS = 100;

/** The cells of rows. Those of a row with empty cells stand in the columns that they are below. */
function rowsOf(lines: readonly Line[]): string[][] {
  const width = lines.reduce((most, { cells }) => Math.max(most, cells.length), 0);
  const columns = width > MAX_COLUMNS ? [] : columnsOf(lines, width);
  return lines.map(({ text, cells }) => {
    const texts = cellsOf(text.trim());
    if (columns.length === 0 || texts.length === width || texts.length !== cells.length)
      return texts;
    const places = cells.map((cell) => columnOf(cell, columns));
    if (places.some((place, i) => place === undefined || place <= (places[i - 1] ?? -1)))
      return texts;
    const row: string[] = Array.from({ length: places.at(-1)! + 1 }, () => "");
    for (const [i, place] of places.entries()) row[place!] = texts[i]!;
    return row;
  });
}

/** Where the columns begin and end, in the rows that have a cell in each of them. */
function columnsOf(lines: readonly Line[], width: number): Span[] {
  const columns = Array.from({ length: width }, (): Span => [Infinity, -Infinity]);
  for (const { cells } of lines)
    if (cells.length === width)
      for (const [c, [start, end]] of cells.entries())
        columns[c] = [Math.min(columns[c]![0], start), Math.max(columns[c]![1], end)];
  return columns;
}

type Span = Line["cells"][number];

/** The only column that a cell stands in; undefined for none, or for several. */
function columnOf([start, end]: Span, columns: readonly Span[]): number | undefined {
  const below = columns.flatMap(([from, to], c) => (start < to && end > from ? [c] : []));
  return below.length === 1 ? below[0] : undefined;
}

const cellsOf = (line: string): string[] => line.split("\t").map((cell) => cell.trim());
const oneLine = (line: string): string => cellsOf(line).join(" ");

/** A word that is divided at the end of a line is joined. */
const paragraphText = (lines: readonly string[]): string =>
  lines
    .map(oneLine)
    .join("\n")
    .replace(/(?<=\p{Ll})-\n(?=\p{Ll})/gu, "");

/** The rows of a table. The first one can name the columns. */
function tableBlock(
  rows: readonly (readonly string[])[],
  place: Block["place"],
): Parameters<Outline["text"]> {
  const lines = rows.map((cells) => cells.join(" | ").trim());
  const details = { kind: "table", place } as const;
  const [names, ...below] = rows.map((cells) => ({ cells }));
  if (!areNames(names!.cells, below)) return [lines.join("\n"), details];
  const header = `${lines[0]}\n${tableRule(names!.cells.length)}`;
  return [[header, ...lines.slice(1)].join("\n"), { ...details, header }];
}

interface Paragraph {
  readonly lines: Line[];
  /** Of a heading. */
  readonly level: number | undefined;
}

/** Lines without a gap between them. A heading has the lines of one level. */
function* paragraphsOf(
  lines: readonly Line[],
  levelOf: (line: Line) => number | undefined,
): Generator<Paragraph> {
  let paragraph: Paragraph | undefined;
  for (const line of lines) {
    const text = line.text.trim();
    const level = text === "" ? undefined : levelOf(line);
    const isOther = level !== paragraph?.level;
    const isFull = level !== undefined && paragraph?.lines.length === MAX_HEADING_LINES;
    const isNext = line.isFirst && !isRowBelow(line, paragraph?.lines.at(-1));
    if (paragraph && (text === "" || isNext || isOther || isFull)) {
      yield paragraph;
      paragraph = undefined;
    }
    if (text === "") continue;
    paragraph ??= { lines: [], level };
    paragraph.lines.push(line);
  }
  if (paragraph) yield paragraph;
}

/** Rows of a table are further apart than lines of a text, in heights of the font. */
const MAX_ROW_GAP = 3;

/** Whether a line and that above it are rows of a table. */
function isRowBelow({ cells, y, height }: Line, above: Line | undefined): boolean {
  if (!above || cells.length < 2 || above.cells.length < 2) return false;
  return above.y - y < MAX_ROW_GAP * height && Math.abs(cells.length - above.cells.length) <= 1;
}

/** Which lines are headings: those that bookmarks name, and those in larger letters. */
class HeadingLevels {
  readonly #bookmarks = new Map<string, number>();
  /** The levels that bookmarks give to the sizes of letters. */
  readonly #levels = new Map<number, number>();
  /** The sizes of headings, the largest first. */
  readonly #sizes: readonly number[];
  readonly #text: number;
  readonly #deepest: number;

  constructor(pages: readonly PageText[], bookmarks: readonly Bookmark[]) {
    for (const { title, level, page } of bookmarks)
      this.#bookmarks.set(`${page} ${plain(title)}`, Math.min(level, MAX_LEVEL));
    const letters = new Map<number, number>();
    for (const { lines } of pages)
      for (const { text, height } of lines)
        letters.set(size(height), (letters.get(size(height)) ?? 0) + text.length);
    this.#text = [...letters].reduce((best, one) => (one[1] > best[1] ? one : best), [0, 0])[0];
    for (const [i, { lines }] of pages.entries())
      for (const { text, height } of lines) {
        const level = this.#bookmarks.get(`${i + 1} ${plain(text)}`);
        if (level !== undefined) this.#levels.set(size(height), level);
      }
    this.#deepest = Math.max(0, ...this.#levels.values());
    const isLarge = (height: number): boolean => height > HEADING_SIZE * this.#text;
    this.#sizes = [...letters.keys()].filter(isLarge).sort((a, b) => b - a);
  }

  of({ text, height, least }: Line, page: number): number | undefined {
    const named = this.#bookmarks.get(`${page} ${plain(text)}`);
    if (named !== undefined) return named;
    if (this.#text === 0 || size(least) <= HEADING_SIZE * this.#text) return undefined;
    if (!HEADING.test(text.trim()) || LABEL.test(text.trim())) return undefined;
    if (text.length > MAX_HEADING_LENGTH || text.trim().replace(NUMBER, "").includes("\t"))
      return undefined;
    const rank = this.#deepest > 0 ? this.#deepest : this.#sizes.indexOf(size(height));
    return this.#levels.get(size(height)) ?? Math.min(rank + 1, MAX_LEVEL);
  }
}

/** Sizes of fonts in half points: those of one style differ by less. */
const size = (height: number): number => Math.round(2 * height) / 2;

/** A title without its number and its spaces. */
const plain = (title: string): string =>
  title
    .trim()
    .replace(/\s+/g, " ")
    .replace(/^(?:(?:chapter|section|appendix) )?[\dA-Z]{0,3}(?:\.\d{1,3}){0,6}[.:)]? /i, "")
    .replaceAll(" ", "")
    .toLowerCase();

/** Leaves out the lines of a table of contents. */
function withoutContents(page: PageText): PageText {
  const entries = new Set(page.lines.filter(({ text }) => pageOf(text) !== undefined));
  if (!isContents(Array.from(entries, ({ text }) => text))) return page;
  return { ...page, lines: page.lines.filter((line) => !entries.has(line)) };
}
