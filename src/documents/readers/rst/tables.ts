/** The tables of reStructuredText: grids, columns below `====`, and those of directives. */

export interface PlainTable {
  readonly rows: readonly { readonly cells: readonly PlainCell[]; readonly line: number }[];
  readonly headerRows: number;
}

export interface PlainCell {
  readonly text: string;
  /** How many it covers. Default: 1. */
  readonly columns?: number;
  readonly rows?: number;
}

export const isGridBorder = (line: string): boolean => /^\+(?:[-=]+\+)+\s*$/.test(line);
export const isSimpleBorder = (line: string): boolean => /^={2,}(?: +={2,})+\s*$/.test(line);

interface Row {
  readonly cells: string[];
  readonly line: number;
}

/** A cell of a grid, while its lines are read. */
interface OpenCell {
  readonly texts: string[];
  /** The row that it begins in. */
  readonly row: number;
  rows: number;
}

/** @param first the line of the file of the first border */
export function gridTable(given: readonly string[], first: number): PlainTable {
  const lines = given.map(byColumn);
  const borders = lines.filter((line) => line.startsWith("+") && isBorder(line));
  const columns = [...new Set(borders.flatMap((line) => positionsOf(line, "+")))];
  columns.sort((a, b) => a - b);
  const table = new Grid(columns);
  let headerRows = 0;
  for (const [i, line] of lines.entries()) {
    if (!isBorder(line)) table.add(line, first + i);
    else {
      table.border(line);
      if (line.includes("=")) headerRows = table.count;
    }
  }
  return { rows: table.rows(), headerRows };
}

const isBorder = (line: string): boolean =>
  /^[+|]/.test(line) && /\+[-=]+\+/.test(line) && /[+|]\s*$/.test(line);

/** The rows of a grid. Cells that a border does not divide are one object. */
class Grid {
  readonly #columns: readonly number[];
  readonly #rows: { readonly cells: readonly OpenCell[]; readonly line: number }[] = [];
  /** The border above the row that is read. */
  #above = "";
  #lines: string[] = [];
  #line = 0;

  constructor(columns: readonly number[]) {
    this.#columns = columns;
  }

  get count(): number {
    return this.#rows.length;
  }

  add(line: string, number: number): void {
    if (this.#lines.length === 0) this.#line = number;
    this.#lines.push(line);
  }

  /** Ends a row. Text between borders belongs to a cell that goes on below them. */
  border(line: string): void {
    if (this.#lines.length > 0) this.#endRow(line);
    this.#above = line;
  }

  rows(): PlainTable["rows"] {
    if (this.#lines.length > 0) this.#endRow("");
    return this.#rows.map(({ cells, line }, row) => ({
      cells: groups(cells).flatMap(([cell, start, end]) =>
        cell.row === row
          ? [{ text: plain(cell.texts.join(" ")), columns: end - start, rows: cell.rows }]
          : [],
      ),
      line,
    }));
  }

  #endRow(below: string): void {
    const before = this.#rows.at(-1)?.cells;
    const cells: OpenCell[] = [];
    for (let c = 0; c + 1 < this.#columns.length; c++) {
      const start = this.#columns[c]!;
      const isDivided = c === 0 || this.#hasBar(start, below);
      const isNew = /[-=]/.test(this.#above[start + 1] ?? "") || before === undefined;
      if (!isDivided) cells.push(cells[c - 1]!);
      else cells.push(isNew ? { texts: [], row: this.#rows.length, rows: 0 } : before[c]!);
    }
    for (const [cell] of groups(cells)) cell.rows++;
    for (const line of this.#lines) this.#addTexts(line, cells);
    this.#addTexts(below, cells, true);
    this.#rows.push({ cells, line: this.#line });
    this.#lines = [];
  }

  #hasBar(at: number, below: string): boolean {
    if (this.#above[at] !== "+" && below[at] !== "+")
      return this.#lines.every((l) => l[at] === "|");
    return this.#lines.every((line) => line[at] === "|" || line[at] === "+");
  }

  #addTexts(line: string, cells: readonly OpenCell[], isBelow = false): void {
    for (const [{ texts }, start, end] of groups(cells)) {
      const text = line.slice(this.#columns[start]! + 1, this.#columns[end]).trim();
      const isRule = isBelow && /^[-=]{2}/.test(text);
      if (text !== "" && !isRule) texts.push(text);
    }
  }
}

/** The cells of a row, each with its first column and the one behind it. */
function groups(cells: readonly OpenCell[]): (readonly [OpenCell, number, number])[] {
  const found: [OpenCell, number, number][] = [];
  for (const [c, cell] of cells.entries()) {
    const last = found.at(-1);
    if (last?.[0] === cell) last[2] = c + 1;
    else found.push([cell, c, c + 1]);
  }
  return found;
}

const positionsOf = (line: string, mark: string): number[] =>
  [...line.matchAll(new RegExp(`\\${mark}`, "g"))].map(({ index }) => index);

/** East Asian letters of the Basic Multilingual Plane that are as wide as two others (UAX 11). */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]/g;
const FILL = "\0";

/** A line whose positions are columns: a wide letter has a fill behind it. */
const byColumn = (line: string): string => line.replace(WIDE, `$&${FILL}`);
const plain = (text: string): string => text.replaceAll(FILL, "").trim();

/** @param first the line of the file of the first border */
export function simpleTable(given: readonly string[], first: number): PlainTable {
  const lines = given.map(byColumn);
  const starts = [...lines[0]!.matchAll(/=+/g)].map(({ index }) => index);
  const rows: Row[] = [];
  let headerRows = 0;
  for (const [i, line] of lines.entries()) {
    if (isSimpleBorder(line)) {
      if (i > 0 && i < lines.length - 1) headerRows = rows.length;
      continue;
    }
    if (/^[-\s]*$/.test(line)) continue;
    const spans = /^-[-\s]*$/.test(lines[i + 1] ?? "") ? lines[i + 1]! : lines[0]!;
    const cells = simpleCells(line, starts, spans);
    const above = rows.at(-1);
    if (cells[0] === "" && above && rows.length > headerRows)
      for (const [c, cell] of cells.entries()) above.cells[c] = `${above.cells[c]} ${cell}`.trim();
    else rows.push({ cells, line: first + i });
  }
  const shown = rows.map(({ cells, line }) => ({ cells: cells.map((text) => ({ text })), line }));
  return { rows: shown, headerRows };
}

/** @param spans a line that has a mark below each character of a column but for the gaps */
function simpleCells(line: string, starts: readonly number[], spans: string): string[] {
  const cells: string[] = [];
  for (let c = 0; c < starts.length; ) {
    let end = c + 1;
    while (end < starts.length && /[-=]/.test(spans[starts[end]! - 1] ?? "")) end++;
    const text = plain(line.slice(starts[c], starts[end] ?? line.length));
    for (; c < end; c++) cells.push(text);
  }
  return cells;
}
