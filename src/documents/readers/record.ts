/** The document of a record: an object of JSON, or a row of a table with named columns. */

import { type Fields, isFields } from "../../text/fields.ts";
import { unwrapped } from "../../text/record-fields.ts";
import type { Budget } from "../file/budget.ts";
import type { Block, Document } from "../tree/document.ts";
import type { RecordIds } from "./record-ids.ts";

/** Longer lists of numbers are vectors, which say nothing to a reader. */
const MAX_NUMBERS = 64;

/** Where a record is in its file. */
export interface RecordPlace {
  /** Identifies a record without an id: `line 7`. */
  readonly name: string;
  /** Of JSON Lines. */
  readonly line?: number;
}

/**
 * Takes id, title, text and metadata from the fields. The text is a line `name: value` for each
 * other field, and below them the field that holds text.
 */
export function recordDocument(
  fields: Fields,
  { name, line }: RecordPlace,
  ids: RecordIds,
  budget: Budget,
): Document {
  const { id, title = "", text, isConversation, others, metadata } = ids.fieldsOf(fields);
  const lines = line === undefined ? {} : { lines: [[0, line]] as const };
  const list = linesOf(text === undefined ? unwrapped(fields) : others, budget);
  const blocks: Block[] = [];
  if (list !== "") blocks.push({ text: list, headings: [], kind: "list", ...lines });
  const kind = isConversation ? { kind: "list" as const } : {};
  if (text !== undefined && text.trim() !== "")
    blocks.push({ text, headings: [], ...kind, ...lines });
  return { record: id ?? name, title, blocks, metadata };
}

/** The document of a JSON value, which is an object or a text. */
export function valueDocument(
  value: unknown,
  place: RecordPlace,
  ids: RecordIds,
  budget: Budget,
): Document {
  const fields = isFields(value) ? value : { text: linesOf(value, budget) };
  return recordDocument(fields, place, ids, budget);
}

/** All values of a JSON value, one a line, with their names: `address.city: Rome`. */
export function linesOf(value: unknown, budget: Budget): string {
  const lines: string[] = [];
  const collect = (inner: unknown, name: string): void => {
    if (inner === null || inner === undefined || inner === "") return;
    if (isVector(inner)) return;
    if (Array.isArray(inner)) for (const one of inner) collect(one, name);
    else if (typeof inner === "object")
      for (const [key, one] of Object.entries(inner)) {
        budget.spend("characters", name.length); // long names, again and again
        collect(one, name === "" ? key : `${name}.${key}`);
      }
    else {
      const line = name === "" ? String(inner) : `${name}: ${inner}`;
      budget.spend("characters", line.length);
      lines.push(line);
    }
  };
  collect(value, "");
  return lines.join("\n");
}

const isVector = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length > MAX_NUMBERS &&
  value.every((one) => typeof one === "number");
