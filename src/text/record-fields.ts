/**
 * The fields of a record, whatever program wrote it: an object of JSON or a row of a table. One
 * rule says which of them hold id, title and text; all others are metadata.
 */

import { conversationIn } from "./conversation.ts";
import { type Fields, isFields } from "./fields.ts";
import { isMetadataValue, type Metadata, type MetadataValue } from "./passage.ts";

/** The names of fields with a meaning. The first that has a value counts. */
export const ID_NAMES: readonly string[] = ["_id", "id", "id_", "docid", "doc_id", "docno", "pid"];
export const TITLE_NAMES: readonly string[] = ["title"];
export const TEXT_NAMES: readonly string[] = [
  "text",
  "contents",
  "content",
  "body",
  "passage",
  "page_content",
  "pageContent",
];
/** Objects whose fields are metadata of the record: LangChain, LlamaIndex and Haystack. */
const METADATA_NAMES: readonly string[] = ["metadata", "meta", "extra_info"];
/** Every passage of a long record has the fields, so their number bounds time and memory. */
const MAX_METADATA_FIELDS = 1_000;
/** A longer name is none. */
const MAX_NAME_LENGTH = 1_000; // characters
/** Objects in objects become `a.b.c: value`. */
const MAX_LEVELS = 4;

/** A record by its meaning. Undefined for what it does not have. */
export interface RecordFields {
  readonly id: string | undefined;
  readonly title: string | undefined;
  readonly text: string | undefined;
  /** Whether the lines of the text are those of a conversation. */
  readonly isConversation: boolean;
  /** The fields that are read before the text: those of a record that names no metadata. */
  readonly others: Fields;
  readonly metadata: Metadata;
}

/**
 * Sorts the fields of a record. Of two fields with one name, that in `metadata` counts.
 *
 * @param idNames the fields that can be the id, the first that has a value
 */
export function recordFields(record: Fields, idNames = ID_NAMES): RecordFields {
  const fields = unwrapped(record);
  const idName = idNames.find((name) => identifier(fields[name]) !== undefined);
  const titleName = TITLE_NAMES.find((name) => typeof fields[name] === "string");
  const textName = TEXT_NAMES.find((name) => textOf(fields[name]) !== undefined);
  const talk = textName === undefined ? conversationIn(fields) : undefined;
  const unused = ["_id", "id"].filter((name) => idNames.includes(name));
  const own = new Set([...unused, idName, titleName, textName, talk?.name, ...METADATA_NAMES]);
  const others = Object.fromEntries(
    Object.entries(fields).filter(
      ([name, value]) => !own.has(name) || (METADATA_NAMES.includes(name) && !isFields(value)),
    ),
  );
  const named = METADATA_NAMES.filter((name) => isFields(fields[name]));
  const inner = named.map((name) => asFields(fields[name]));
  return {
    id: idName && identifier(fields[idName]),
    title: titleName && (fields[titleName] as string),
    text: textName === undefined ? talk?.text : textOf(fields[textName]),
    isConversation: talk !== undefined,
    others: named.length === 0 ? others : {},
    metadata: metadataOf(Object.assign({}, others, ...inner)),
  };
}

/** The record inside of what LangChain, LlamaIndex and Elasticsearch write around it. */
export function unwrapped(fields: Fields): Fields {
  const { kwargs, lc, __data__: data, _source: source, _id, node } = fields;
  if (fields.type === "Feature" && isFields(fields.properties)) return feature(fields);
  if (lc !== undefined && isFields(kwargs)) return kwargs;
  if (isFields(data)) return data;
  if (isFields(source)) return { ...source, ...(_id !== undefined && { _id }) };
  if (isFields(node) && hasText(node)) return unwrapped(node);
  return fields;
}

/** A feature of GeoJSON (RFC 7946): of its place, people read the position of a point. */
function feature({ id, properties, geometry }: Fields): Fields {
  const { type, coordinates } = asFields(geometry);
  const [longitude, latitude] = type === "Point" && Array.isArray(coordinates) ? coordinates : [];
  const place = longitude === undefined ? {} : { longitude, latitude };
  return { ...(id !== undefined && { id }), ...place, ...asFields(properties) };
}

/** Whether an object has a field that holds text, or a conversation. */
export const hasText = (fields: Fields): boolean => {
  const inner = unwrappedOnce(fields);
  const hasNamed = TEXT_NAMES.some((name) => textOf(inner[name]) !== undefined);
  return hasNamed || conversationIn(inner) !== undefined;
};

const unwrappedOnce = (fields: Fields): Fields =>
  isFields(fields.node) ? fields.node : unwrapped(fields);

/** LlamaIndex's nodes have their text in `text_resource`. */
const textOf = (value: unknown): string | undefined => {
  if (typeof value === "string") return value === "" ? undefined : value;
  return isFields(value) && typeof value.text === "string" ? value.text : undefined;
};

export const identifier = (value: unknown): string | undefined =>
  typeof value === "number" || (typeof value === "string" && value !== "")
    ? String(value)
    : undefined;

const asFields = (value: unknown): Fields => (isFields(value) ? value : {});

/**
 * The metadata among fields: texts, numbers, true, false and lists of them. Dates are ISO 8601.
 * Objects become `author.name`. Of more than 1,000 fields, the first 1,000 are taken.
 */
export function metadataOf(fields: Fields): Metadata {
  const entries: [string, MetadataValue][] = [];
  const collect = (name: string, value: unknown, level: number): void => {
    if (entries.length >= MAX_METADATA_FIELDS || name.length > MAX_NAME_LENGTH) return;
    if (value instanceof Date) entries.push([name, isoDate(value)]);
    else if (isMetadataValue(value)) {
      if (value !== "" && !(Array.isArray(value) && value.length === 0))
        entries.push([name, value]);
    } else if (typeof value === "bigint") entries.push([name, String(value)]);
    else if (isFields(value) && level < MAX_LEVELS)
      for (const [key, inner] of Object.entries(value)) collect(`${name}.${key}`, inner, level + 1);
  };
  for (const [name, value] of Object.entries(fields)) collect(name, value, 1);
  return Object.fromEntries(entries);
}

/** `2024-05-01` for midnight, else with the time. */
function isoDate(date: Date): string {
  if (Number.isNaN(date.getTime())) return String(date);
  return date
    .toISOString()
    .replace(/T00:00:00\.000Z$/, "")
    .replace(/\.000Z$/, "Z");
}
