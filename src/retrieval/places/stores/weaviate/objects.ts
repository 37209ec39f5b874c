/** Objects of Weaviate as passages. */

import type { WeaviateObject } from "weaviate-client";
import type { Passage } from "../../../../text/passage.ts";
import type { PassageRow, StoredPassage } from "../store.ts";
import { storedMetadata } from "../stored-metadata.ts";
import type { StoredObject } from "./schema.ts";

/** The properties that a passage is made of, one with its codes, and a row. */
export const FIELDS = ["passage", "title", "text", "document", "metadata"] as const;
export const CODES = [...FIELDS, "codes"] as const;
export const ROW = [...CODES, "digest", "checksum", "tokens", "cutTokens"] as const;

export type Found = WeaviateObject<undefined, undefined>;

export const propertiesOf = (found: Found): StoredObject =>
  found.properties as unknown as StoredObject;

export const idOf = (found: Found): string => propertiesOf(found).passage;

export function passageOf(found: Found): Passage {
  const { passage: id, title, text, document, metadata } = propertiesOf(found);
  return {
    id,
    title,
    text,
    ...(document !== undefined && { document }),
    ...storedMetadata(parsed(metadata)),
  };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined; // changed by someone, as `verify` says
  }
}

export const storedPassage = (found: Found): StoredPassage => ({
  passage: passageOf(found),
  codes: Buffer.from(propertiesOf(found).codes ?? "", "base64"),
});

export function passageRow(found: Found): PassageRow {
  const { digest, checksum, tokens, cutTokens } = propertiesOf(found);
  return { ...storedPassage(found), digest, checksum, tokens, cutTokens };
}
