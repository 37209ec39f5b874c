/** CSV and TSV: each row is a document; the first row names the columns. Source: RFC 4180. */

import { pipeline, Readable } from "node:stream";
import { CsvError, type Info, parse } from "csv-parse";
import { InputError } from "../../io/errors.ts";
import type { Document } from "../document.ts";
import type { SourceFile } from "../source-file.ts";
import { ID, recordDocument, TEXT } from "./record.ts";

/** A chapter of a book has 50,000. */
const MAX_ROW_LENGTH = 2 ** 20; // characters
const MAX_COLUMNS = 10_000;
const CHUNK_LENGTH = 65_536;

interface Row {
  readonly record: readonly string[];
  readonly info: Info;
}

/** A row of a table after the first one, which names the columns. */
export interface TableRow {
  readonly names: readonly string[];
  /** Of the columns, in their order. A row can have fewer or more than there are names. */
  readonly values: readonly string[];
  /** The first and the last line of the row in the file. */
  readonly lines: readonly [first: number, last: number];
}

export async function* readTable(file: SourceFile): AsyncGenerator<Document> {
  for await (const row of readRows(file)) yield rowDocument(row);
}

/** @throws {InputError} for a damaged row, and for one that is too long */
export async function* readRows(file: SourceFile): AsyncGenerator<TableRow> {
  const text = await file.text();
  let names: readonly string[] | undefined;
  let last = 0;
  try {
    for await (const { record, info } of rows(text, file)) {
      if (names) yield { names, values: record, lines: [last + 1, info.lines] };
      else names = columnNames(record, file.path);
      last = info.lines;
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw damaged(file.path, error);
  }
}

function rows(text: string, { name }: SourceFile): AsyncIterable<Row> {
  const isTabbed = /\.tsv(\.gz)?$/i.test(name);
  const parser = parse({
    delimiter: isTabbed ? "\t" : delimiterOf(text),
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: MAX_ROW_LENGTH,
  });
  // The last stream of a pipeline reports the errors of all streams.
  return pipeline(Readable.from(chunksOf(text)), parser, () => {}) as unknown as AsyncIterable<Row>;
}

/** In parts, so that the parser waits until its rows are read. */
function* chunksOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; start += CHUNK_LENGTH)
    yield text.slice(start, start + CHUNK_LENGTH);
}

/** The most frequent of the usual separators in the first line. */
function delimiterOf(text: string): string {
  const end = text.indexOf("\n");
  const head = text.slice(0, Math.min(end === -1 ? text.length : end, 10_000));
  const count = (separator: string): number => head.split(separator).length;
  return [",", ";", "\t"].reduce((best, one) => (count(one) > count(best) ? one : best));
}

/** Names of columns with a meaning, which tables often write as `Title` or `TEXT`. */
const KNOWN_NAMES = new Set(["title", ...ID, ...TEXT]);

/**
 * Columns without a name, and the second of two with the same name, get their number. The case of
 * names with a meaning does not matter.
 */
function columnNames(row: readonly string[], where: string): string[] {
  if (row.length > MAX_COLUMNS)
    throw new InputError({
      where,
      expected: `at most ${MAX_COLUMNS} columns`,
      got: `${row.length}`,
      remedy: "check the file, or ignore it",
    });
  const names = row.map((given) => {
    const name = given.trim();
    return KNOWN_NAMES.has(name.toLowerCase()) ? name.toLowerCase() : name;
  });
  return names.map((name, i) =>
    name === "" || names.indexOf(name) < i ? `${name || "column"} ${i + 1}` : name,
  );
}

function rowDocument({ names, values, lines }: TableRow): Document {
  const nameOf = (i: number): string => names[i] ?? `column ${i + 1}`;
  const fields = Object.fromEntries(values.map((value, i) => [nameOf(i), numberOrText(value)]));
  const { title, ...others } = fields;
  const texts = { ...others, ...(title !== undefined && { title: String(title) }) };
  const document = recordDocument(texts, `line ${lines[0]}`);
  const blocks = [...document.blocks].map((block) => ({ ...block, lines }));
  return { ...document, blocks };
}

/** Numbers can be compared in filters. A text such as `007` stays as it is. */
function numberOrText(value: string): string | number {
  const number = Number(value);
  return Number.isFinite(number) && String(number) === value ? number : value;
}

const damaged = (where: string, cause: CsvError): InputError =>
  new InputError(
    { where, expected: "a row of a table", got: cause.message, remedy: "correct the quotes" },
    { cause },
  );
