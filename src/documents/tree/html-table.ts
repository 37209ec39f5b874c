/** The rows of an HTML table, with every cell at its column. */

import { countWords } from "../../text/units.ts";
import type { Budget } from "../file/budget.ts";
import { areNames, SAMPLE_ROWS } from "../tables/table-columns.ts";
import { childrenOf, type Element, find, first } from "./markup.ts";

/** HTML Standard, 4.9.11: larger spans count as these. */
const [MAX_COLUMN_SPAN, MAX_ROW_SPAN] = [1_000, 65_534];
/** The words of a cell of data, on average of a table: more are columns of a page. */
const MAX_CELL_WORDS = 100;

export type Cell = string;

export interface TableRow {
  readonly cells: readonly Cell[];
  readonly line: number;
}

export interface Table {
  readonly rows: readonly TableRow[];
  /** Rows at the beginning that name the columns. */
  readonly headerRows: number;
}

/** The table of an element; undefined for one that only places the parts of a page. */
export function htmlTable(
  element: Element,
  cellText: (cell: Element) => string,
  budget: Budget,
): Table | undefined {
  if (/^(?:presentation|none)$/.test(element.attributes.role ?? "")) return undefined;
  const rows = [...rowsOf(element)];
  if (rows.length === 0 || rows.every(({ cells }) => cells.length < 2)) return undefined;
  if (first(element, "h1", "h2", "h3", "h4", "h5", "h6", "pre")) return undefined;
  const inner = [...find(element, "table")];
  if (inner.some((one) => first(one, "table"))) return undefined; // would be read at each level
  const grid = new Grid(budget);
  for (const { cells, line } of rows) {
    grid.startRow(line);
    for (const cell of cells)
      grid.add(cellText(cell), spanOf(cell, "colspan"), spanOf(cell, "rowspan"));
  }
  const table = grid.rows();
  if (isLayout(table, inner.length > 0)) return undefined;
  const inHead = rows.filter(({ isHead }) => isHead).length;
  return { rows: table, headerRows: inHead || guessedHeaderRows(table) };
}

interface MarkupRow {
  readonly cells: readonly Element[];
  readonly line: number;
  /** Whether it is in `thead`, or all of its cells are `th`. */
  readonly isHead: boolean;
}

function* rowsOf(table: Element): Generator<MarkupRow> {
  let isAbove = true; // a row of headers further down is a heading of a part
  for (const group of childrenOf(table)) {
    const rows = group.name === "tr" ? [group] : childrenOf(group, "tr");
    if (group.name !== "tr" && !/^t(?:head|body|foot)$/.test(group.name)) continue;
    for (const row of rows) {
      const cells = childrenOf(row).filter(({ name }) => name === "td" || name === "th");
      const areNames = cells.length > 0 && cells.every(({ name }) => name === "th");
      const isHead: boolean = isAbove && (group.name === "thead" || areNames);
      isAbove = isHead;
      yield { cells, line: row.line, isHead };
    }
  }
}

const spanOf = ({ attributes }: Element, name: "colspan" | "rowspan"): number => {
  const given = Number.parseInt(attributes[name] ?? "1", 10);
  return Math.min(given >= 1 ? given : 1, name === "colspan" ? MAX_COLUMN_SPAN : MAX_ROW_SPAN);
};

function isLayout(rows: readonly TableRow[], hasTables: boolean): boolean {
  const cells = rows.flatMap((row) => row.cells).filter((cell) => cell !== "");
  const words = cells.map(countWords);
  if (hasTables) return rows.length < 2 || words.some((count) => count > MAX_CELL_WORDS);
  return words.reduce((sum, count) => sum + count, 0) > MAX_CELL_WORDS * cells.length;
}

/** Whether the first row of a table without marks names the columns. In doubt it does not. */
function guessedHeaderRows([head, ...others]: readonly TableRow[]): number {
  const isNamed = head && others.length > 0 && head.cells.length > 1;
  return isNamed && areNames(head.cells, others.slice(0, SAMPLE_ROWS)) ? 1 : 0;
}

/** Rows of cells, some of which cover several columns and rows. */
export class Grid {
  readonly #budget: Budget;
  readonly #rows: { readonly cells: string[]; readonly line: number }[] = [];
  /** What covers a column of the next rows, and of how many. */
  readonly #covered = new Map<number, { readonly text: string; rows: number }>();

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  startRow(line = 0): void {
    this.#budget.spend("records");
    this.#rows.push({ cells: [], line });
    this.#fill();
  }

  /** Adds the next cell of the row. */
  add(text: string, columns = 1, rows = 1): void {
    const { cells } = this.#rows.at(-1)!;
    this.#budget.spend("cells", columns);
    this.#budget.spend("characters", columns * text.length);
    for (let column = 0; column < columns; column++) {
      if (rows > 1) this.#covered.set(cells.length, { text, rows: rows - 1 });
      cells.push(text);
    }
    this.#fill();
  }

  rows(): TableRow[] {
    return this.#rows;
  }

  /** Adds the cells of rows above that cover the next columns. */
  #fill(): void {
    const { cells } = this.#rows.at(-1)!;
    for (;;) {
      const above = this.#covered.get(cells.length);
      if (!above || above.rows === 0) return;
      this.#budget.spend("cells");
      this.#budget.spend("characters", above.text.length);
      above.rows--;
      cells.push(above.text);
    }
  }
}
