/** The document of a record: an object of JSON, or a row of a table with named columns. */

import { isMetadataValue, type Metadata, type MetadataValue } from "../../text/passage.ts";
import type { Document } from "../document.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** Every passage of a long record has the fields, so their number bounds time and memory. */
const MAX_METADATA_FIELDS = 1_000;
/** Names of fields with a meaning; the first that has a value counts. */
export const ID = ["_id", "id"];
export const TEXT = ["text", "content", "contents", "body", "passage"];

/**
 * Takes id, title and text from the fields with these names. Other fields become metadata. Without
 * a text, the text is a line `name: value` for each field. Of more than 1,000 other fields, the
 * first 1,000 become metadata.
 *
 * @param record identifies a record without an id
 */
export function recordDocument(fields: Fields, record: string, line?: number): Document {
  const [id] = present(fields, ID);
  const [textName, text] = present(fields, TEXT) ?? [];
  const title = typeof fields.title === "string" ? fields.title : "";
  const body = typeof text === "string" ? text : linesOf(fields);
  const place = line === undefined ? {} : { lines: [line, line] as const };
  const isOwn = (name: string) => name === "title" || ID.includes(name) || name === textName;
  const named = id === undefined ? undefined : fields[id];
  return {
    record: typeof named === "string" || typeof named === "number" ? String(named) : record,
    title,
    blocks: body.trim() === "" ? [] : [{ text: body, headings: [], ...place }],
    metadata: metadataOf(fields, isOwn),
  };
}

/** The first of the names that the record has a value for. */
function present(fields: Fields, names: readonly string[]): [name?: string, value?: unknown] {
  const name = names.find((one) => (fields[one] ?? "") !== "");
  return name === undefined ? [] : [name, fields[name]];
}

function metadataOf(fields: Fields, isOwn: (name: string) => boolean): Metadata {
  const entries = Object.entries(fields).flatMap(([name, value]): [string, MetadataValue][] => {
    const isKept = !isOwn(name) && isMetadataValue(value) && value !== "";
    return isKept ? [[name, value]] : [];
  });
  return Object.fromEntries(entries.slice(0, MAX_METADATA_FIELDS));
}

/** All values of a JSON value, one a line, with their names: `address.city: Rome`. */
export function linesOf(value: unknown, name = ""): string {
  if (value === null || value === undefined || value === "") return "";
  if (typeof value !== "object") return name === "" ? String(value) : `${name}: ${value}`;
  if (Array.isArray(value)) return joined(value.map((one) => linesOf(one, name)));
  return joined(
    Object.entries(value).map(([key, one]) => linesOf(one, name === "" ? key : `${name}.${key}`)),
  );
}

const joined = (lines: readonly string[]): string => lines.filter((line) => line !== "").join("\n");
