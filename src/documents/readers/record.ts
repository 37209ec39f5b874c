/** The document of a record: an object of JSON, or a row of a table with named columns. */

import { type Fields, isFields, recordFields } from "../../text/record-fields.ts";
import type { Budget } from "../file/budget.ts";
import type { Document } from "../tree/document.ts";

/**
 * Takes id, title, text and metadata from the fields. Without a text, the text is a line `name:
 * value` for each field.
 *
 * @param record identifies a record without an id
 */
export function recordDocument(
  fields: Fields,
  record: string,
  budget: Budget,
  line?: number,
): Document {
  const { id, title = "", text, metadata } = recordFields(fields);
  const lines = line === undefined ? {} : { lines: [[0, line]] as const };
  const body = text ?? linesOf(fields, budget);
  const kind = text === undefined ? ({ kind: "list" } as const) : {};
  const blocks = body.trim() === "" ? [] : [{ text: body, headings: [], ...kind, ...lines }];
  return { record: id ?? record, title, blocks, metadata };
}

/**
 * The document of a JSON value, which is an object or a text.
 *
 * @param line of JSON Lines
 */
export function valueDocument(
  value: unknown,
  record: string,
  budget: Budget,
  line?: number,
): Document {
  const fields = isFields(value) ? value : { text: linesOf(value, budget) };
  return recordDocument(fields, record, budget, line);
}

/** All values of a JSON value, one a line, with their names: `address.city: Rome`. */
export function linesOf(value: unknown, budget: Budget): string {
  const lines: string[] = [];
  const collect = (inner: unknown, name: string): void => {
    if (inner === null || inner === undefined || inner === "") return;
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
