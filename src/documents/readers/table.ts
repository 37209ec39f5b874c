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
  typedValue,
} from "../tables/table-columns.ts";
import type { Document, Place } from "../tree/document.ts";
import { consecutiveLines } from "../tree/outline.ts";
import { recordDocument } from "./record.ts";

/** A row of a table with a row that names the columns. */
export interface TableRow extends Pick<Row, "lines"> {
  readonly names: readonly string[];
  /** Of the columns, in their order. A row can have fewer or more than there are names. */
  readonly values: readonly string[];
}

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const text = await file.text();
  yield* tableDocuments(() => rowsOf(text, file), file);
}

/** @throws {InputError} for a damaged row, and for one that is too long */
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
  const { separator, start } = layoutOf(text, /\.tsv(\.gz)?$/i.test(name));
  return parseRows(text, separator, path, budget, start);
}

const NAMED = { auto: undefined, yes: true, no: false } as const;

/** Where a table stands in its file. */
export interface TablePlace {
  readonly place: Place;
  /** The beginning of the names of its records: the sheet. */
  readonly name: string;
}

/**
 * The documents of the rows of a table.
 *
 * @param rows is called twice, because the type of a column is that of all its values
 */
export async function* tableDocuments(
  rows: () => Iterable<Row>,
  file: SourceFile,
  where?: TablePlace,
): AsyncGenerator<Document> {
  const sample = firstRows(rows());
  const head = headOf(sample, NAMED[file.tableHeader ?? "auto"]);
  const names = head.names
    ? columnNames(head.names)
    : namesWithoutHead(sample.slice(head.rows).filter(({ cells }) => cells.join("") !== ""));
  const types = await columnTypes(rows(), head, file);
  const record = (line: number): string => (where ? `${where.name}!${line}` : `line ${line}`);
  const place = where ? { place: where.place } : {};
  for (const { cells, lines } of head.titles)
    yield {
      record: record(lines[0]),
      title: "",
      blocks: [{ text: cells.join(" ").trim(), headings: [], lines: [[0, lines[0]]], ...place }],
    };
  let number = 0;
  const width = names?.length ?? sample.at(-1)?.cells.length ?? 0;
  for (const { cells, lines } of rows()) {
    if (++number <= head.rows || isLeftOut(cells, width)) continue;
    file.budget.spend("records");
    await file.budget.pause();
    const document = rowDocument(cells, names, record(lines[0]), file.budget);
    const block = { headings: [], ...place };
    const metadata = typed(document.metadata, names, cells, types);
    const marked = Array.from(document.blocks, ({ text, kind }) => ({
      ...block,
      text,
      kind,
      lines: linesOf(text, lines),
    }));
    yield { ...document, metadata, blocks: marked };
  }
}

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

async function columnTypes(
  rows: Iterable<Row>,
  head: Head,
  { budget }: SourceFile,
): Promise<ColumnTypes[]> {
  const types: ColumnTypes[] = [];
  let number = 0;
  try {
    for (const { cells } of rows) {
      if (++number <= head.rows) continue;
      for (const [i, cell] of cells.entries()) {
        types[i] ??= new ColumnTypes();
        types[i].add(cell);
      }
      await budget.pause();
    }
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
  }
  return types;
}

/** Without names, the text of a row is its cells. */
function rowDocument(
  cells: readonly string[],
  names: readonly string[] | undefined,
  record: string,
  budget: Budget,
): Document {
  if (names) return recordDocument(fieldsOf(cells, names), record, budget);
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
  cells: readonly string[],
  types: readonly ColumnTypes[],
): Metadata {
  const columns = cells.flatMap((cell, i): [string, Metadata[string]][] => {
    const name = names[i] ?? `column ${i + 1}`;
    const isKept = cell !== "" && metadata[name] !== undefined;
    return isKept ? [[name, typedValue(cell, types[i]?.type() ?? "text")]] : [];
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
