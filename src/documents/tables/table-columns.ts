/** What the rows of a table mean: which row names the columns, and what type each column has. */

import { append } from "../../math/append.ts";
import type { MetadataValue } from "../../text/passage.ts";
import { ID_NAMES, TEXT_NAMES, TITLE_NAMES } from "../../text/record-fields.ts";
import { countWords } from "../../text/units.ts";
import type { Row } from "./delimited.ts";

/** Names of columns with a meaning, which tables often write as `Title` or `TEXT`. */
const KNOWN_NAMES = new Set([...ID_NAMES, ...TITLE_NAMES, ...TEXT_NAMES]);
/** Names that columns of tables often have. A row with one of them names the columns. */
const USUAL_NAMES = new Set(
  (
    "name date time year month day place city country region state address category type kind status price cost amount " +
    "total quantity count number code description question answer answers author date_of_birth email phone url link " +
    "source language lang notes comment comments product item key value label tags subject message department role"
  ).split(" "),
);
/** Rows that the head of a table is guessed from. */
export const SAMPLE_ROWS = 200;

/** How a table begins. */
export interface Head {
  /** The number of rows, blank ones and comments counted, before the first row of data. */
  readonly rows: number;
  /** Undefined if no row names the columns. */
  readonly names: readonly string[] | undefined;
  /** Titles above the names. */
  readonly titles: readonly Row[];
}

/** @param named whether the first row names the columns; undefined: its cells decide */
export function headOf(sample: readonly Row[], named: boolean | undefined): Head {
  const width = usualWidth(sample);
  const titles: Row[] = [];
  let at = 0;
  for (; at < sample.length; at++) {
    const { cells } = sample[at]!;
    const filled = cells.filter((cell) => cell !== "").length;
    const isComment = cells[0]!.startsWith("#") && cells.length !== width;
    if (filled > 1 || (width < 2 && filled === 1 && !isComment)) break;
    if (filled === 1 && !isComment) titles.push(sample[at]!);
  }
  if (at === sample.length) return { rows: 0, names: undefined, titles: [] };
  const first = sample[at]!.cells.map((cell, i) => (i === 0 ? cell.replace(/^#\s*/, "") : cell));
  const second = named === undefined ? namesBelow(first, sample.slice(at + 1)) : undefined;
  if (second) return { rows: at + 2, names: second, titles };
  const isNamed = named ?? areNames(first, sample.slice(at + 1));
  return { rows: isNamed ? at + 1 : at, names: isNamed ? first : undefined, titles };
}

/**
 * The tables of a sheet. Below a table with names and rows, another one begins after an empty row
 * if names are found there again.
 *
 * @param named as of `headOf`; whoever says which row names the columns has one table
 */
export function tablesOf(rows: readonly Row[], named: boolean | undefined): (readonly Row[])[] {
  if (named !== undefined) return [rows];
  const parts: Row[][] = [];
  for (const row of rows) {
    const isNext = parts.at(-1)?.at(-1)?.lines[1] === row.lines[0] - 1;
    if (isNext) parts.at(-1)!.push(row);
    else parts.push([row]);
  }
  const tables: Row[][] = [];
  let hasNames = false;
  for (const part of parts) {
    const { names, rows: first } = headOf(part.slice(0, SAMPLE_ROWS), undefined);
    const isTable = names !== undefined && part.length > first;
    if (tables.length === 0 || (hasNames && isTable)) tables.push(part);
    else append(tables.at(-1)!, part);
    hasNames ||= isTable;
  }
  return tables;
}

/** The number of cells that most rows have. */
function usualWidth(rows: readonly Row[]): number {
  const counts = new Map<number, number>();
  for (const { cells } of rows)
    counts.set(cells.length, (counts.get(cells.length) ?? 0) + cells.length);
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best), [0, 0])[0];
}

/** Years and quarters below the name of several columns. */
const PERIOD = /^(?:(?:19|20)\d\d|Q[1-4])$/;

/** `Sales 2023` and `Sales 2024` for a name above two periods. Undefined for other rows. */
function namesBelow(above: readonly string[], below: readonly Row[]): string[] | undefined {
  const periods = below[0]?.cells ?? [];
  const spans = above.some((name, i) => i > 0 && name === "" && periods[i] !== "");
  const filled = periods.filter((cell) => cell !== "");
  if (below.length < 2 || !spans || filled.length < 2) return undefined;
  if (!filled.every((cell) => PERIOD.test(cell))) return undefined;
  let group = "";
  const names = periods.map((period, i) => {
    group = above[i] || (period === "" ? "" : group);
    return `${group} ${period}`.trim();
  });
  return new Set(names).size === names.length ? names : undefined;
}

/**
 * Whether a row names the columns below it: short texts, and one of them is a usual name, or they
 * are all different and one stands above values of another form. In doubt it does not.
 */
export function areNames(
  row: readonly string[],
  below: readonly Pick<Row, "cells" | "values">[],
): boolean {
  const isName = (cell: string): boolean =>
    cell.length <= 60 && countWords(cell) <= 8 && typeOf([cell]) === "text" && !/[.!?]$/.test(cell);
  const filled = row.filter((cell) => cell !== "");
  if (filled.length === 0 || !filled.every(isName)) return false;
  const isUsual = (cell: string): boolean => {
    const name = cell.toLowerCase();
    return KNOWN_NAMES.has(name) || USUAL_NAMES.has(name.replace(/\s+/g, "_"));
  };
  if (filled.some(isUsual)) return true;
  if (new Set(filled.map((cell) => cell.toLowerCase())).size < filled.length) return false;
  if (below.length === 0) return row.length > 1;
  return row.some((cell, i) => {
    const shown = below.map(({ cells, values }) => values?.[i] ?? cells[i] ?? "");
    const values = shown.filter((value) => value !== "");
    return cell !== "" && values.length > 0 && standsOut(cell, values);
  });
}

/** `12.5%`, `€ 40`, `40 crowns`, `2024-05-01`, `01.05.2024`. */
const QUANTITY =
  /^[+-]?(?:\p{Sc}\s?)?\d[\d.,]*\s?(?:%|\p{Sc}|\p{L}{1,10})?$|^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T ][\d:]+)?$/u;
const isQuantity = (value: string): boolean => QUANTITY.test(value);

/** Whether a name is unlike the values of its column. */
function standsOut(name: string, values: readonly string[]): boolean {
  if (typeOf(values) !== "text" || (!QUANTITY.test(name) && values.every(isQuantity))) return true;
  if (values.includes(name)) return false;
  const isWord = (text: string): boolean => /^[\p{Ll}_][\p{L}\p{N}_.-]*$/u.test(text);
  if (isWord(name) && !values.some(isWord)) return true;
  const words = values.reduce((sum, value) => sum + countWords(value), 0) / values.length;
  if (words >= 5 && words >= 3 * countWords(name)) return true;
  return values.length >= 10 && new Set(values).size <= 0.3 * values.length; // categories
}

export type ColumnType = "number" | "thousands" | "decimal comma" | "boolean" | "list" | "text";

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d{1,3})?$/i;
/** `1,200` and `12,000.50`, and in their column `850`. */
const THOUSANDS = /^-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?$/;
const DECIMAL_COMMA = /^-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?$/;
/** Integers of more digits are identifiers, and a number would lose some of them. */
const MAX_DIGITS = 15;
/** What programs and people write for no value. In a column of texts, it is text. */
const MISSING = /^(?:|n\/?a|#n\/a|<na>|nan|null|none|\\n|-{1,2}|[–—])$/i;

/** Collects the values of a column. A column has the type that all of them have. */
export class ColumnTypes {
  #isEmpty = true;
  #hasComma = false;
  readonly #possible = new Set<ColumnType>([
    "number",
    "thousands",
    "decimal comma",
    "boolean",
    "list",
  ]);

  add(value: string): void {
    if (MISSING.test(value)) return;
    this.#isEmpty = false;
    this.#hasComma ||= value.includes(",");
    for (const type of this.#possible) if (!hasType(value, type)) this.#possible.delete(type);
  }

  get hasValues(): boolean {
    return !this.#isEmpty;
  }

  type(): ColumnType {
    if (this.#isEmpty) return "text";
    const [type = "text"] = this.#possible;
    const needsComma = type === "thousands" || type === "decimal comma";
    return needsComma && !this.#hasComma ? "text" : type;
  }
}

function hasType(value: string, type: ColumnType): boolean {
  if (type === "boolean") return /^(?:true|false)$/i.test(value);
  if (type === "list") return listOf(value) !== undefined;
  if (/^-?\d+$/.test(value) && value.replace("-", "").length > MAX_DIGITS) return false;
  if (type === "number") return NUMBER.test(value);
  return (type === "thousands" ? THOUSANDS : DECIMAL_COMMA).test(value);
}

function typeOf(values: readonly string[]): ColumnType {
  const types = new ColumnTypes();
  for (const value of values) types.add(value);
  return types.type();
}

/** The value of a cell of a column of this type. Undefined for none. */
export function typedValue(cell: string, type: ColumnType): MetadataValue | undefined {
  if (cell === "" || (type !== "text" && MISSING.test(cell))) return undefined;
  if (type === "number") return Number(cell);
  if (type === "thousands") return Number(cell.replaceAll(",", ""));
  if (type === "decimal comma") return Number(cell.replaceAll(".", "").replace(",", "."));
  if (type === "boolean") return cell.toLowerCase() === "true";
  return (type === "list" && listOf(cell)) || cell;
}

/** A list in JSON, as data frames write it. */
function listOf(cell: string): readonly (string | number | boolean)[] | undefined {
  if (!cell.startsWith("[") || !cell.endsWith("]") || cell.length > 10_000) return undefined;
  try {
    const list: unknown = JSON.parse(cell);
    const isItem = (item: unknown) => ["string", "number", "boolean"].includes(typeof item);
    return Array.isArray(list) && list.length > 0 && list.every(isItem) ? list : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The names of the columns. The second of two with the same name gets its number, as do columns
 * without a name. The case of names with a meaning does not matter.
 */
export function columnNames(row: readonly string[]): string[] {
  const names = row.map((name) =>
    KNOWN_NAMES.has(name.toLowerCase()) ? name.toLowerCase() : name,
  );
  const seen = new Set<string>();
  return names.map((given, i) => {
    const isNew = given !== "" && !seen.has(given);
    const name = isNew ? given : `${given || "column"} ${i + 1}`;
    seen.add(name);
    return name;
  });
}

/**
 * The names of a table without a row of names: `id` and `text` for two columns of ids and texts, as
 * in MS MARCO's `collection.tsv`.
 */
export function namesWithoutHead(sample: readonly Row[]): string[] | undefined {
  if (sample.length === 0 || sample.some(({ cells }) => cells.length !== 2)) return undefined;
  const ids = new Set(sample.map(({ cells }) => cells[0]!));
  const areIds = ids.size === sample.length && [...ids].every((id) => /^[\w.:/-]{1,64}$/.test(id));
  const words = sample.reduce((sum, { cells }) => sum + countWords(cells[1]!), 0) / sample.length;
  return areIds && words >= 4 ? ["id", "text"] : undefined;
}
