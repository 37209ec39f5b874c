/** CSV, TSV and tables with other separators: each row is a document. */

import { InputError } from "../../io/errors.ts";
import type { Metadata } from "../../text/passage.ts";
import type { Budget } from "../file/budget.ts";
import type { SourceFile } from "../file/source-file.ts";
import { layoutOf, parseRows, type Row } from "../tables/delimited.ts";
import {
  ColumnTypes,
  columnNames,
  type Head,
  headOf,
  namesWithoutHead,
  SAMPLE_ROWS,
  tablesOf,
  typedValue,
} from "../tables/table-columns.ts";
import type { Block, Document, Place } from "../tree/document.ts";
import { consecutiveLines } from "../tree/outline.ts";
import { recordDocument } from "./record.ts";
import { IdColumns, RecordIds } from "./record-ids.ts";

/** The longest file that can have several tables. */
const MAX_REPORT = 2 ** 20; // characters

/** A row of a table with a row that names the columns. */
export interface TableRow extends Pick<Row, "lines"> {
  readonly names: readonly string[];
  /** Of the columns, in their order. A row can have fewer or more than there are names. */
  readonly values: readonly string[];
}

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const text = await file.text();
  const ids = new RecordIds();
  const tables = text.length > MAX_REPORT ? [] : tablesIn(text, file);
  if (tables.length < 2) yield* tableDocuments(() => rowsOf(text, file), file, ids);
  for (const table of tables.length < 2 ? [] : tables)
    yield* tableDocuments(() => table, file, ids);
  ids.report(file.path, file.report);
}

/** The tables of a report, between which rows are empty. */
function tablesIn(text: string, file: SourceFile): (readonly Row[])[] {
  if (!/\n[ \t,;|]*\n/.test(text)) return [];
  try {
    const rows = [...rowsOf(text, file)].filter(({ cells }) => cells.some((cell) => cell !== ""));
    return tablesOf(rows, NAMED[file.tableHeader ?? "auto"]);
  } catch (error) {
    if (error instanceof InputError) return []; // reported when its rows are read
    throw error;
  }
}

/** @throws {InputError} for a row that is too long */
export async function* readRows(file: SourceFile): AsyncGenerator<TableRow> {
  const text = await file.text();
  let names: readonly string[] | undefined;
  for (const { cells, lines } of rowsOf(text, file)) {
    if (cells.every((cell) => cell === "")) continue;
    if (names) yield { names, values: cells, lines };
    else names = columnNames(cells);
    await file.budget.pause();
  }
}

function rowsOf(text: string, { name, path, budget }: SourceFile): Iterable<Row> {
  return parseRows(text, layoutOf(text, /\.tsv(\.gz)?$/i.test(name)), path, budget);
}

const NAMED = { auto: undefined, yes: true, no: false } as const;

/** Where a table stands in its file. */
export interface TablePlace {
  readonly place: Place;
  /** The beginning of the names of its records: the sheet. */
  readonly name: string;
}

/** The documents of the rows of a sheet, which can have several tables. */
export async function* sheetDocuments(
  rows: readonly Row[],
  file: SourceFile,
  ids: RecordIds,
  sheet: string,
): AsyncGenerator<Document> {
  const where = { place: { sheet }, name: sheet };
  for (const table of tablesOf(rows, NAMED[file.tableHeader ?? "auto"]))
    yield* tableDocuments(() => table, file, ids, where);
}

/**
 * The documents of the rows of a table.
 *
 * @param rows is called several times, because the type of a column is that of all its values, and
 *   a column of ids is one of different values
 */
async function* tableDocuments(
  rows: () => Iterable<Row>,
  file: SourceFile,
  ids: RecordIds,
  where?: TablePlace,
): AsyncGenerator<Document> {
  const sample = firstRows(rows());
  const head = headOf(sample, NAMED[file.tableHeader ?? "auto"]);
  const names = head.names
    ? columnNames(head.names)
    : namesWithoutHead(sample.slice(head.rows).filter(({ cells }) => cells.join("") !== ""));
  const columns = await columnsOf(rows(), head, names, file);
  ids.choose(columns.ids);
  const record = (line: number): string => (where ? `${where.name}!${line}` : `line ${line}`);
  const place = where ? { place: where.place } : {};
  for (const { cells, lines } of head.titles)
    yield lineDocument(cells.join(" ").trim(), record(lines[0]), lines[0], place);
  const empty = (head.names ?? []).filter((name, i) => name !== "" && !columns.types[i]?.hasValues);
  const headLine = sample[head.rows - 1]?.lines[0];
  if (where && empty.length > 0 && headLine !== undefined)
    yield lineDocument(empty.join(" | "), record(headLine), headLine, place);
  let number = 0;
  const width = names?.length ?? sample.at(-1)?.cells.length ?? 0;
  for (const row of rows()) {
    if (++number <= head.rows || isLeftOut(row.cells, width)) continue;
    file.budget.spend("records");
    await file.budget.pause();
    const { lines } = row;
    const document = rowDocument(row.cells, names, record(lines[0]), ids, file.budget);
    const block = { headings: [], ...place };
    const metadata = typed(document.metadata, names, row, columns.types);
    const marked = Array.from(document.blocks, ({ text, kind }) => ({
      ...block,
      text,
      kind,
      lines: linesOf(text, lines),
    }));
    yield { ...document, metadata, blocks: marked };
  }
}

/** A line that is no row: a title, or names of columns without values. */
const lineDocument = (
  text: string,
  record: string,
  line: number,
  place: Pick<Block, "place">,
): Document => ({
  record,
  title: "",
  blocks: [{ text, headings: [], lines: [[0, line]], ...place }],
});

/** The rows that the head of the table is guessed from, up to one that is damaged. */
function firstRows(rows: Iterable<Row>): Row[] {
  const sample: Row[] = [];
  try {
    for (const row of rows) {
      sample.push(row);
      if (sample.length === SAMPLE_ROWS) break;
    }
  } catch (error) {
    if (!(error instanceof InputError)) throw error; // reported when its rows are read
  }
  return sample;
}

/** Rows without text, and comments. */
const isLeftOut = (cells: readonly string[], width: number): boolean =>
  cells.every((cell) => cell === "") || (cells.length === 1 && width > 1 && /^#/.test(cells[0]!));

/** What the rows below the head say of the columns. */
interface Columns {
  readonly types: readonly ColumnTypes[];
  readonly ids: IdColumns;
}

async function columnsOf(
  rows: Iterable<Row>,
  head: Head,
  names: readonly string[] | undefined,
  { budget }: SourceFile,
): Promise<Columns> {
  const types: ColumnTypes[] = [];
  const ids = new IdColumns();
  let number = 0;
  try {
    for (const { cells, values } of rows) {
      if (++number <= head.rows) continue;
      if (names) ids.add(fieldsOf(cells, names));
      for (const [i, cell] of cells.entries()) {
        types[i] ??= new ColumnTypes();
        types[i].add(values?.[i] ?? cell);
      }
      await budget.pause();
    }
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
  }
  return { types, ids };
}

/** Without names, the text of a row is its cells. */
function rowDocument(
  cells: readonly string[],
  names: readonly string[] | undefined,
  record: string,
  ids: RecordIds,
  budget: Budget,
): Document {
  if (names) return recordDocument(fieldsOf(cells, names), { name: record }, ids, budget);
  const text = cells.filter((cell) => cell !== "").join(" | ");
  return {
    record,
    title: "",
    blocks: [{ text, kind: "table", headings: [] }],
    metadata: fieldsOf(cells, []),
  };
}

const fieldsOf = (cells: readonly string[], names: readonly string[]): Record<string, string> =>
  Object.fromEntries(cells.map((cell, i) => [names[i] ?? `column ${i + 1}`, cell]));

/** The metadata of a row, with the types of the columns. */
function typed(
  metadata: Metadata = {},
  names: readonly string[] = [],
  { cells, values }: Row,
  types: readonly ColumnTypes[],
): Metadata {
  const columns = cells.flatMap((cell, i): [string, Metadata[string]][] => {
    const name = names[i] ?? `column ${i + 1}`;
    if (metadata[name] === undefined) return [];
    const type = types[i]?.type() ?? "text";
    const value = typedValue((type === "text" ? undefined : values?.[i]) ?? cell, type);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(columns);
}

/** A row that stands on several lines has the text of one cell, or its cells one a line. */
function linesOf(text: string, [first, last]: Row["lines"]): [number, number][] {
  if (first === last) return [[0, first]];
  const marks = [...consecutiveLines(text, first)].map(([at, line]): [number, number] => [
    at,
    Math.min(line, last),
  ]);
  return [...marks, [text.length - 1, last]];
}
