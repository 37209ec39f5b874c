/** JSON and JSON Lines: each object of a list is a document. */

import { InputError } from "../../io/errors.ts";
import { type JsonLine, readJsonLines } from "../../io/json/json-lines.ts";
import { parseJson } from "../../io/json/parse-json.ts";
import { type Fields, hasText, isFields } from "../../text/record-fields.ts";
import type { Budget } from "../file/budget.ts";
import { openRegularFile, type SourceFile } from "../file/source-file.ts";
import type { Document } from "../tree/document.ts";
import { linesOf, recordDocument } from "./record.ts";

/** Values of a file; it bounds the memory to about 1 GB. */
const MAX_VALUES = 5_000_000;
/** Levels of objects around the list of records. */
const MAX_LEVELS = 4;

/** Fields that hold the records of an answer of a service, or of a dump. */
const LISTS = new Set(
  (
    "results data items documents docs records rows hits passages entries nodes chunks articles pages posts matches " +
    "value values response docstore/data"
  ).split(" "),
);

export async function* readJson(file: SourceFile): AsyncGenerator<Document> {
  const text = await file.text();
  const firstLine = text.slice(0, text.indexOf("\n") + 1).trim();
  if (firstLine.endsWith("}") && isJson(firstLine) && text.trim() !== firstLine)
    return yield* readJsonLinesFile(file);
  const value = parse(text, file.path);
  const records = recordsIn(value);
  if (!records) {
    yield { ...jsonDocument(value, "", file.budget), record: undefined };
    return;
  }
  for (const { value, name } of records) {
    yield jsonDocument(value, name, file.budget);
    await file.budget.pause();
  }
}

/** A file that begins with so many lines that are not JSON is no file of JSON Lines. */
const MAX_FIRST = 10;
/** Lines that are named one by one. */
const MAX_NAMED = 10;

/**
 * The values of JSON Lines. Lines that are not JSON are left out and reported.
 *
 * @throws {InputError} if the first ten lines are not JSON
 */
export async function* jsonLinesOf(
  path: string,
  report: (problem: InputError) => void,
  signal: AbortSignal | undefined,
): AsyncGenerator<JsonLine, void> {
  let [read, defective] = [0, 0];
  const first: InputError[] = [];
  const skip = (problem: InputError): void => {
    if (++defective <= MAX_NAMED) first.push(problem);
    if (read === 0 && defective === MAX_FIRST) throw first[0]!;
    if (read > 0) for (const one of first.splice(0)) report(one);
  };
  for await (const line of readJsonLines(path, signal, skip)) {
    read++;
    for (const one of first.splice(0)) report(one);
    yield line;
  }
  if (read === 0 && first[0]) throw first[0];
  if (defective > MAX_NAMED) report(moreDefective(path, defective - MAX_NAMED));
}

const moreDefective = (where: string, count: number): InputError =>
  new InputError({
    where,
    expected: "one JSON object a line",
    got: `${count} more lines that are not JSON, which are left out`,
    remedy: "check how the file was written",
  });

export async function* readJsonLinesFile(file: SourceFile): AsyncGenerator<Document> {
  await (await openRegularFile(file.path)).close(); // a pipe would wait for its writer
  const values = jsonLinesOf(file.path, (problem) => file.report(problem), file.signal);
  for await (const { line, value } of values) {
    file.budget.renew();
    yield jsonDocument(value, `line ${line}`, file.budget, line);
    await file.budget.pause();
  }
}

/** @param line of JSON Lines */
function jsonDocument(value: unknown, record: string, budget: Budget, line?: number): Document {
  const fields = isFields(value) ? value : { text: linesOf(value, budget) };
  return recordDocument(fields, record, budget, line);
}

interface JsonRecordValue {
  /** Identifies a record without an id. */
  readonly name: string;
  readonly value: unknown;
}

/** The records of a value; undefined for one that is a single document. */
function recordsIn(value: unknown, level = 0): JsonRecordValue[] | undefined {
  if (Array.isArray(value)) return recordsOfList(value);
  if (!isFields(value) || level === MAX_LEVELS || hasText(value)) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const records = LISTS.has(name) ? recordsIn(inner, level + 1) : undefined;
    if (records) return squadRecords(records) ?? records;
  }
  const isTexts = (list: unknown): list is Fields[] =>
    Array.isArray(list) && list.length > 0 && list.every((one) => isFields(one) && hasText(one));
  const lists = Object.values(value).filter(isTexts);
  if (lists.length === 1) return recordsOfList(lists[0]!);
  return recordsByName(value);
}

const recordsOfList = (list: readonly unknown[]): JsonRecordValue[] | undefined =>
  list.some((one) => isFields(one) || typeof one === "string")
    ? list.map((value, i) => ({ value, name: `${i + 1}` }))
    : undefined;

/** An object of records by their ids. */
function recordsByName(fields: Fields): JsonRecordValue[] | undefined {
  const all = Object.entries(fields);
  const areRecords = all.length > 0 && all.every(([, one]) => isFields(one) && hasText(one));
  return areRecords ? all.map(([name, value]) => ({ name, value })) : undefined;
}

/** The paragraphs of SQuAD: `{"data": [{"title", "paragraphs": [{"context", "qas"}]}]}`. */
function squadRecords(articles: readonly JsonRecordValue[]): JsonRecordValue[] | undefined {
  const paragraphs = articles.flatMap(({ value, name }) => {
    if (!isFields(value) || !Array.isArray(value.paragraphs)) return [];
    const title = typeof value.title === "string" ? value.title.replaceAll("_", " ") : "";
    return value.paragraphs.map((one: unknown, i) => ({
      name: `${title || name} ${i + 1}`,
      value: { title, text: isFields(one) ? one.context : one },
    }));
  });
  return paragraphs.length > 0 ? paragraphs : undefined;
}

function isJson(text: string): boolean {
  try {
    parseJson(text, "");
    return true;
  } catch {
    return false;
  }
}

function parse(text: string, where: string): unknown {
  try {
    return parseJson(text, where, MAX_VALUES);
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    throw new InputError(
      {
        where,
        expected: "JSON",
        got: cause instanceof Error ? cause.message : String(cause),
        remedy: "check that the file is complete",
      },
      { cause },
    );
  }
}
