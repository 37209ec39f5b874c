/** Deletes passages of a store, summarises it, and compares it with its checksums. */

import { crc32 } from "node:zlib";
import { codeStarts } from "../codec/codec.ts";
import type { IndexHeader } from "../index/format/manifest.ts";
import type { IndexInfo } from "../index/maintain/info.ts";
import type { Damage } from "../index/maintain/verify.ts";
import { connectStore } from "./address.ts";
import { digestOf } from "./stores/digest.ts";
import { missingParts, readParts } from "./stores/import-parts.ts";
import { readProperties, type StoreProperties } from "./stores/properties.ts";
import { retrying, SEARCH_PAUSES } from "./stores/retry.ts";
import { isStorable } from "./stores/storable.ts";
import type { PassageRow, Store } from "./stores/store.ts";

/** Ids in one call of a store. */
const BATCH = 1_000;

/** Does work with a collection that exists. */
async function withCollection<Result>(
  address: string,
  work: (store: Store, properties: StoreProperties) => Promise<Result>,
): Promise<Result> {
  await using store = retrying(await connectStore(address), SEARCH_PAUSES);
  return await work(store, await readProperties(store));
}

export const deleteFromStore = (
  address: string,
  ids: AsyncIterable<string> | Iterable<string>,
  signal: AbortSignal | undefined,
): Promise<number> =>
  withCollection(address, async (store) => {
    let deleted = 0;
    for await (const batch of batches(ids)) {
      signal?.throwIfAborted();
      deleted += await store.delete(batch.filter(isStorable));
    }
    return deleted;
  });

async function* batches(ids: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string[]> {
  let batch: string[] = [];
  for await (const id of ids) {
    batch.push(id);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

export const storeHeader = (address: string): Promise<IndexHeader> =>
  withCollection(address, async (_, { header }) => header);

export const storeInfo = (address: string): Promise<IndexInfo> =>
  withCollection(address, async (store, { header, codec: { codebook } }) => {
    const { passages, tokens, cutPassages, cutTokens } = await store.statistics();
    return {
      generation: 1,
      header,
      bits: codebook?.bits ?? 32,
      centroids: codebook && codebook.centroids.length / header.dimension,
      segments: 1,
      passages,
      tokens,
      cut: { passages: cutPassages, tokens: cutTokens },
      deletedPassages: 0,
      parts: await readParts(store),
      bytes: await store.bytes(),
    };
  });

/** Reads all passages with their codes. */
export const verifyStore = (address: string, signal: AbortSignal | undefined): Promise<Damage[]> =>
  withCollection(address, async (store, properties) => {
    const damages: Damage[] = [];
    const missing = await missingParts(store);
    if (missing !== undefined) damages.push({ path: store.address, problem: missing });
    let [passages, tokens] = [0, 0];
    for await (const row of store.rows()) {
      signal?.throwIfAborted();
      passages++;
      tokens += row.tokens;
      const problem = problemOf(row, properties);
      const path = `${store.address}: passage ${JSON.stringify(row.passage.id)}`;
      if (problem) damages.push({ path, problem });
    }
    const counted = await store.statistics();
    if (counted.passages !== passages || counted.tokens !== tokens)
      damages.push({
        path: store.address,
        problem: `counts of ${counted.passages} passages and ${counted.tokens} tokens instead of ${passages} and ${tokens}`,
      });
    return damages;
  });

function problemOf(
  { passage, digest, codes, checksum, tokens }: PassageRow,
  { header: { dimension }, codec: { codebook } }: StoreProperties,
): string | undefined {
  if (digestOf(passage) !== digest) return "its text or its fields have changed";
  if (crc32(codes) !== checksum) return "its codes have changed";
  const count = codebook ? codeStarts(codes, codebook).length - 1 : codes.length / (4 * dimension);
  return count === tokens ? undefined : `codes of ${count} tokens instead of ${tokens}`;
}
