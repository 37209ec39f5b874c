/** The passages of a store as those of an open index (search/generation.ts). */

import { InputError } from "../../../io/errors.ts";
import type { Passage } from "../../../text/passage.ts";
import { type AllocateValues, type Codebook, codeStarts, longestKeyOf } from "../../codec/codec.ts";
import type { Allocate } from "../../index/format/compressed-store.ts";
import { longestRow } from "../../scoring/vectors.ts";
import type { OpenParts } from "../../search/generation.ts";
import type { Keys } from "../../search/rescore.ts";
import type { Codes } from "../../search/rescore-codes.ts";
import type { StoreProperties } from "./properties.ts";
import { SeenPassages } from "./seen-passages.ts";
import { isStorable } from "./storable.ts";
import type { Store, StoredPassage, StoreStatistics } from "./store.ts";

/** They get their ordinals when they are found. */
export interface StoredPassages extends AsyncPassages, Pick<SeenPassages, "add" | "id"> {
  /** A passage that is in memory. */
  known(ordinal: number): Passage | undefined;
  /** Many passages, with few questions to the store. */
  passages(ordinals: readonly number[]): Promise<Passage[]>;
}

type AsyncPassages = OpenParts["store"] & Keys & Codes;

/** @param memoryLimit bytes of passages with their codes that stay in memory */
export function openStoredPassages(
  store: Store,
  { header: { dimension }, codec: { decoder, codebook } }: StoreProperties,
  { passages: passageCount, tokens: tokenCount }: StoreStatistics,
  memoryLimit: number,
): StoredPassages {
  const seen = new SeenPassages(store, memoryLimit);
  let longestKey = codebook ? longestKeyOf(codebook) : 0;
  return {
    dimension,
    passageCount,
    tokenCount,
    get ordinalCount() {
      return seen.count;
    },
    get longestKey() {
      return longestKey;
    },
    add: (found) => seen.add(found),
    id: (ordinal) => seen.id(ordinal),
    known: (ordinal) => seen.known(ordinal)?.passage,
    isAlive: () => true,
    passage: async (ordinal) => (await seen.get(ordinal)).passage,
    passages: async (wanted) => (await seen.getAll(wanted)).map(({ passage }) => passage),
    decode: decoder.decode,
    async codes(wanted, allocate) {
      const found = await seen.getAll([...wanted]);
      for (const row of found) checkCodes(row, codebook!, store.address);
      return joinCodes(found, allocate);
    },
    async keys(ordinal, allocate?: AllocateValues) {
      const keys = decoder.decode(aligned((await seen.get(ordinal)).codes), allocate);
      longestKey = Math.max(longestKey, longestRow(keys, dimension));
      return keys;
    },
    async find(id) {
      return isStorable(id) ? seen.add(await store.get([id]))[0] : undefined;
    },
    async *entries() {
      for await (const row of store.rows()) yield [seen.add([row])[0]!, row.passage];
    },
    async *fields() {
      for await (const passage of store.matching({})) {
        const { document, metadata } = passage;
        yield [seen.ordinalOf(passage), { document, metadata }];
      }
    },
    async packedStates() {
      return { packed: new Uint8Array(), file: store.address };
    },
  };
}

/** Copies the codes of passages to memory. The range of each: [passages, 2]. */
function joinCodes(rows: readonly StoredPassage[], allocate: Allocate): Uint32Array {
  const memory = allocate(rows.reduce((sum, { codes }) => sum + codes.length, 0));
  let end = 0;
  return Uint32Array.from(
    rows.flatMap(({ codes }) => {
      memory.set(codes, end);
      end += codes.length;
      return [end - codes.length, end];
    }),
  );
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
