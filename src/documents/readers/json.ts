/** JSON: each object of a list is a document. */

import { InputError } from "../../io/errors.ts";
import { parseRecords } from "../../io/json/parse-json.ts";
import { conversationOf } from "../../text/conversation.ts";
import { type Fields, isFields } from "../../text/fields.ts";
import { hasText } from "../../text/record-fields.ts";
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
    "value values response features docstore/data"
  ).split(" "),
);

/** Fields that hold the parts of a document, at each level. */
const PARTS = new Set("sections subsections chapters subchapters parts".split(" "));
/** Fields that name a part. */
const HEADINGS = ["title", "heading", "header", "name"];

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const text = await file.text();
  const firstLine = text.slice(0, text.indexOf("\n") + 1).trim();
  if (firstLine.endsWith("}") && isJson(firstLine) && text.trim() !== firstLine)
    return yield* readJsonLines(file);
  const parsed = parse(text, file.path);
  const value = conversationOf(parsed) === undefined ? parsed : { messages: parsed };
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
  for (const { value, name, above = [] } of records) {
    const document = valueDocument(value, { name }, ids, file.budget);
    const title = [...above, document.title].filter((one) => one !== "").join(" > ");
    yield { ...document, title };
    await file.budget.pause();
  }
  ids.report(file.path, file.report);
}

interface JsonRecordValue {
  /** Identifies a record without an id. */
  readonly name: string;
  readonly value: unknown;
  /** The titles of what it is a part of. */
  readonly above?: readonly string[];
}

/** The records of a value; undefined for one that is a single document. */
function recordsIn(value: unknown, level = 0): JsonRecordValue[] | undefined {
  if (Array.isArray(value)) return recordsOfList(value);
  if (!isFields(value)) return undefined;
  if (level === 0 && partsOf(value)) return [...partRecords(value, "", [])];
  if (level === MAX_LEVELS || hasText(value)) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const records = LISTS.has(name) ? recordsIn(inner, level + 1) : undefined;
    if (records) return squadRecords(records) ?? withWhole(value, name, records);
  }
  const isTexts = ([, list]: [string, unknown]): boolean =>
    Array.isArray(list) && list.length > 0 && list.every((one) => isFields(one) && hasText(one));
  const lists = Object.entries(value).filter(isTexts);
  const [name, list] = lists.length === 1 ? lists[0]! : [];
  if (name !== undefined) return withWhole(value, name, recordsOfList(list as Fields[])!);
  return recordsByName(value);
}

const recordsOfList = (list: readonly unknown[]): JsonRecordValue[] | undefined =>
  list.some((one) => isFields(one) || typeof one === "string")
    ? list.flatMap((value, i) =>
        isFields(value) && partsOf(value)
          ? [...partRecords(value, `${i + 1}`, [])]
          : { value, name: `${i + 1}` },
      )
    : undefined;

/** The records of a list with the title of the whole, after what the whole says of itself. */
function withWhole(whole: Fields, list: string, records: JsonRecordValue[]): JsonRecordValue[] {
  const { [list]: _, ...rest } = whole;
  const title = [rest.title, rest.name].find((one) => typeof one === "string") as string;
  const titled = records.map((record) => ({
    ...record,
    above: [...(title ? [title] : []), ...(record.above ?? [])],
  }));
  const speaks = Object.values(rest).some(saysSomething);
  const isTitle = Object.keys(rest).every((name) => rest[name] === title);
  return speaks && !isTitle ? [{ name: "0", value: rest }, ...titled] : titled;
}

/** A text of words, or a list of words. */
const saysSomething = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.some((one) => typeof one === "string" && /\p{L}{2}/u.test(one))
    : typeof value === "string" && /\S\s+\S/.test(value);

/** The field of a document that holds its parts, and these. */
function partsOf(value: Fields): readonly [name: string, parts: readonly Fields[]] | undefined {
  for (const [name, list] of Object.entries(value))
    if (PARTS.has(name) && Array.isArray(list) && list.length > 0 && list.every(isPart))
      return [name, list];
  return undefined;
}

const isPart = (value: unknown): value is Fields =>
  isFields(value) && (hasText(value) || partsOf(value) !== undefined);

/** A document and its parts, each a record below the titles of what it is in. */
function* partRecords(
  whole: Fields,
  name: string,
  above: readonly string[],
): Generator<JsonRecordValue> {
  const [list, parts] = partsOf(whole) ?? [];
  const { [list ?? ""]: _, ...own } = whole;
  const headingName = HEADINGS.find((one) => typeof own[one] === "string" && own[one] !== "");
  const { [headingName ?? ""]: heading = "", ...rest } = own;
  const value = heading === "" ? own : { ...rest, title: heading };
  if (parts === undefined || Object.keys(rest).length > 0)
    yield { name: name || "0", value, above };
  const path = heading === "" ? above : [...above, heading as string];
  for (const [i, part] of (parts ?? []).entries())
    yield* partRecords(part, name === "" ? `${i + 1}` : `${name}.${i + 1}`, path);
}

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
