/** Which passages of an open index pass a condition. */

import type { PassageStore } from "../index/format/store.ts";
import { FieldTypes } from "./fields.ts";
import { passes, type Where } from "./where.ts";

/** Answers in memory, a bit for each passage of the index. */
const CACHED_CONDITIONS = 32;

export type Matcher = (where: Where) => Promise<(ordinal: number) => boolean>;

/**
 * Reads the metadata of all passages once for each condition, and keeps the answers to the last 32
 * conditions.
 */
export function createMatcher(store: Pick<PassageStore, "ordinalCount" | "fields">): Matcher {
  const known = new Map<string, Promise<Uint8Array>>();
  return async (where) => {
    const key = JSON.stringify(where);
    const bits = known.get(key) ?? matchAll(store, where);
    known.delete(key); // the last used comes last
    known.set(key, bits);
    bits.catch(() => known.get(key) === bits && known.delete(key));
    if (known.size > CACHED_CONDITIONS) known.delete(known.keys().next().value!);
    const found = await bits;
    return (ordinal) => (found[ordinal >>> 3]! & (1 << (ordinal & 7))) !== 0;
  };
}

/**
 * A bit for each passage, lowest bit of a byte first.
 *
 * @throws {InputError} for a field that no passage has, or of another type
 */
async function matchAll(
  { ordinalCount, fields }: Pick<PassageStore, "ordinalCount" | "fields">,
  where: Where,
): Promise<Uint8Array> {
  const bits = new Uint8Array(Math.ceil(ordinalCount / 8)).fill(passes(where, {}) ? 255 : 0);
  const types = new FieldTypes(where);
  for await (const [ordinal, found] of fields()) {
    types.add(found);
    const bit = 1 << (ordinal & 7);
    if (passes(where, found)) bits[ordinal >>> 3]! |= bit;
    else bits[ordinal >>> 3]! &= ~bit;
  }
  if (ordinalCount > 0) types.check();
  return bits;
}
