/**
 * The stored form of a passage. Its text is JSON, compressed on its own (RFC 1951), so that each
 * passage can be read by position. Its document id and its metadata are plain JSON in a file of
 * their own: a filter reads all of them and no texts.
 */

import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Passage } from "../../../text/passage.ts";
import { damagedFile } from "../blocks/storage.ts";

type PassageText = Pick<Passage, "id" | "title" | "text">;

/** What `metadata.json` holds of a passage. */
export type PassageFields = Pick<Passage, "document" | "metadata">;

/** @param cutTokens the tokens of the passage over the limit, which have no keys */
export const packPassage = ({ id, title, text }: PassageText, cutTokens = 0): Buffer =>
  deflateRawSync(JSON.stringify({ id, title, text, ...(cutTokens > 0 && { cutTokens }) }));

/** A string of Node has fewer characters. */
const MAX_BYTES = 2 ** 30;

/**
 * @param path the file of the passage, for the error
 * @throws {InputError} if it is no stored passage: an accident that checksums do not find, or an
 *   intentional change
 */
export function unpackPassage(packed: Uint8Array, path: string): PassageText {
  const { id, title, text } = parse(packed, path);
  return { id, title, text };
}

/** The id of a stored passage, and its tokens without keys. Throws as `unpackPassage` does. */
export function unpackCut(packed: Uint8Array, path: string): { id: string; cutTokens: number } {
  const { id, cutTokens = 0 } = parse(packed, path);
  return { id, cutTokens };
}

const parse = (packed: Uint8Array, path: string): PassageText & { readonly cutTokens?: number } =>
  unpack(path, "compressed passages", () =>
    JSON.parse(inflateRawSync(packed, inflateOptions(packed)).toString()),
  );

/** Texts shrink to a half or a third. Unless told otherwise, zlib allocates 16 kB for each. */
const inflateOptions = ({ length }: Uint8Array) => ({
  maxOutputLength: MAX_BYTES,
  chunkSize: Math.max(1_024, 4 * length),
});

function unpack<T>(path: string, expected: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw damagedFile(path, expected, cause instanceof Error ? cause.message : "none");
  }
}

/** No bytes for a passage with neither a document id nor metadata. */
export const packFields = ({ document, metadata }: PassageFields): Buffer =>
  document === undefined && metadata === undefined
    ? Buffer.alloc(0)
    : Buffer.from(JSON.stringify({ document, metadata }));

/**
 * @param path the file of the fields, for the error
 * @throws {InputError} if they are no stored fields
 */
export const unpackFields = (packed: Uint8Array, path: string): PassageFields =>
  packed.length === 0
    ? {}
    : unpack(path, "metadata", () => JSON.parse(Buffer.from(packed).toString()));
