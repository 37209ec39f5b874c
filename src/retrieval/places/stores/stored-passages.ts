/**
 * The passages of a store that an open index has seen. Each has an ordinal from then on, and the
 * last ones stay in memory: a question needs its candidates several times.
 */

import { InputError } from "../../../io/errors.ts";
import type { Passage } from "../../../text/passage.ts";
import { type AllocateValues, type Codebook, codeStarts, longestKeyOf } from "../../codec/codec.ts";
import { longestRow } from "../../scoring/vectors.ts";
import type { OpenParts } from "../../search/generation.ts";
import type { Keys } from "../../search/rescore.ts";
import type { Codes } from "../../search/rescore-codes.ts";
import type { StoreProperties } from "./properties.ts";
import { isStorable } from "./storable.ts";
import type { Store, StoredPassage, StoreStatistics } from "./store.ts";

export interface StoredPassages extends AsyncPassages {
  /** The ordinals of passages that the store has just returned, in the order of their ids. */
  add(found: readonly StoredPassage[]): Uint32Array;
  id(ordinal: number): string;
  /** A passage that is in memory. */
  known(ordinal: number): Passage | undefined;
  /** Many passages, with few questions to the store. */
  passages(ordinals: readonly number[]): Promise<Passage[]>;
}

type AsyncPassages = OpenParts["store"] & Keys & Codes;

/** Passages that the store is asked for at once; their codes take some MB. */
const GET_BATCH = 500;
/** Bytes that a passage takes beside its texts and codes. */
const OVERHEAD = 500;

/** @param memoryLimit bytes of passages with their codes that stay in memory */
export function openStoredPassages(
  store: Store,
  { header: { dimension }, codec: { decoder, codebook } }: StoreProperties,
  { passages: passageCount, tokens: tokenCount }: StoreStatistics,
  memoryLimit: number,
): StoredPassages {
  const ids: string[] = [];
  const ordinals = new Map<string, number>();
  const rows = new Map<number, StoredPassage>(); // the last used comes last
  let bytes = 0;
  let longestKey = codebook ? longestKeyOf(codebook) : 0;
  const keep = (ordinal: number, row: StoredPassage): void => {
    const before = rows.get(ordinal);
    if (before) bytes -= sizeOf(before);
    rows.delete(ordinal);
    rows.set(ordinal, row);
    bytes += sizeOf(row);
  };
  const forgetOldest = (): void => {
    for (const [ordinal, row] of rows) {
      if (bytes <= memoryLimit) return;
      rows.delete(ordinal);
      bytes -= sizeOf(row);
    }
  };
  const ordinalOf = (id: string): number => {
    const ordinal = ordinals.get(id) ?? ids.push(id) - 1;
    ordinals.set(id, ordinal);
    return ordinal;
  };
  const add = (found: readonly StoredPassage[]): Uint32Array => {
    forgetOldest(); // before: what is found now is used next
    const sorted = [...found].sort((a, b) => (a.passage.id < b.passage.id ? -1 : 1));
    return Uint32Array.from(sorted, (row) => {
      const ordinal = ordinalOf(row.passage.id);
      keep(ordinal, row);
      return ordinal;
    });
  };
  /** The rows of passages, with few questions to the store. */
  const readAll = async (wanted: readonly number[]): Promise<StoredPassage[]> => {
    const found = new Map(wanted.map((ordinal) => [ordinal, rows.get(ordinal)]));
    const missing = [...found.keys()].filter((ordinal) => !found.get(ordinal));
    for (let first = 0; first < missing.length; first += GET_BATCH) {
      const some = missing.slice(first, first + GET_BATCH).map((ordinal) => ids[ordinal]!);
      for (const row of await store.get(some)) found.set(ordinals.get(row.passage.id)!, row);
    }
    return wanted.map((ordinal) => {
      const row = found.get(ordinal);
      if (!row) throw deleted(store.address, ids[ordinal]!);
      return row;
    });
  };
  const read = async (ordinal: number): Promise<StoredPassage> => {
    const [row] = await readAll([ordinal]);
    keep(ordinal, row!);
    return row!;
  };
  return {
    dimension,
    passageCount,
    tokenCount,
    get ordinalCount() {
      return ids.length;
    },
    get longestKey() {
      return longestKey;
    },
    add,
    id: (ordinal) => ids[ordinal]!,
    known: (ordinal) => rows.get(ordinal)?.passage,
    isAlive: () => true,
    passage: async (ordinal) => (await read(ordinal)).passage,
    passages: async (wanted) => (await readAll(wanted)).map(({ passage }) => passage),
    decode: decoder.decode,
    async codes(wanted, allocate) {
      const found = await readAll([...wanted]);
      for (const row of found) checkCodes(row, codebook!, store.address);
      const memory = allocate(found.reduce((sum, { codes }) => sum + codes.length, 0));
      const ranges = new Uint32Array(2 * found.length);
      let end = 0;
      for (const [i, { codes }] of found.entries()) {
        memory.set(codes, end);
        ranges[2 * i] = end;
        end += codes.length;
        ranges[2 * i + 1] = end;
      }
      return ranges;
    },
    async keys(ordinal, allocate?: AllocateValues) {
      const keys = decoder.decode(aligned((await read(ordinal)).codes), allocate);
      longestKey = Math.max(longestKey, longestRow(keys, dimension));
      return keys;
    },
    async find(id) {
      return isStorable(id) ? add(await store.get([id]))[0] : undefined;
    },
    async *entries() {
      for await (const row of store.rows()) yield [add([row])[0]!, row.passage];
    },
    async *fields() {
      for await (const { id, document, metadata } of store.matching({}))
        yield [ordinalOf(id), { document, metadata }];
    },
    async packedStates() {
      return { packed: new Uint8Array(), file: store.address };
    },
  };
}

/** Float32 keys begin at a multiple of 4 bytes; a client may return bytes at any place. */
const aligned = (codes: Uint8Array): Uint8Array =>
  codes.byteOffset % 4 === 0 ? codes : codes.slice();

/** @throws {InputError} if they do not end with a key: the search reads them as they are */
function checkCodes({ passage, codes }: StoredPassage, codebook: Codebook, where: string): void {
  if (codeStarts(codes, codebook).at(-1) === codes.length) return;
  throw new InputError({
    code: "ERR_REATT_DAMAGED_INDEX",
    where,
    expected: `the codes of the passage ${JSON.stringify(passage.id)} as reatt wrote them`,
    got: `others, of ${codes.length} bytes`,
    remedy: "find all such passages with reatt index verify, and add them again",
  });
}

const sizeOf = ({ passage: { id, title, text }, codes }: StoredPassage): number =>
  codes.length + 2 * (id.length + title.length + text.length) + OVERHEAD;

const deleted = (where: string, id: string): InputError =>
  new InputError({
    where,
    expected: `the passage ${JSON.stringify(id)}`,
    got: "none: it was deleted meanwhile",
    remedy: "ask again",
  });
