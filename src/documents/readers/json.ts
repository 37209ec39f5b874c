/** JSON: each object of a list is a document. */

import { InputError } from "../../io/errors.ts";
import { parseRecords } from "../../io/json/parse-json.ts";
import { type Fields, hasText, isFields } from "../../text/record-fields.ts";
import type { SourceFile } from "../file/source-file.ts";
import type { Document } from "../tree/document.ts";
import { read as readJsonLines } from "./json-lines.ts";
import { valueDocument } from "./record.ts";
import { IdColumns, RecordIds } from "./record-ids.ts";

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

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const text = await file.text();
  const firstLine = text.slice(0, text.indexOf("\n") + 1).trim();
  if (firstLine.endsWith("}") && isJson(firstLine) && text.trim() !== firstLine)
    return yield* readJsonLines(file);
  const value = parse(text, file.path);
  const records = recordsIn(value);
  const ids = new RecordIds();
  if (!records) {
    yield { ...valueDocument(value, { name: "" }, ids, file.budget), record: undefined };
    return;
  }
  const columns = new IdColumns();
  for (const { value } of records) {
    if (isFields(value)) columns.add(value);
    await file.budget.pause();
  }
  ids.choose(columns);
  for (const { value, name } of records) {
    yield valueDocument(value, { name }, ids, file.budget);
    await file.budget.pause();
  }
  ids.report(file.path, file.report);
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
    parseRecords(text, "");
    return true;
  } catch {
    return false;
  }
}

function parse(text: string, where: string): unknown {
  try {
    return parseRecords(text, where, MAX_VALUES);
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
