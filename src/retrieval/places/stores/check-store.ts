/** Summarises a collection of a store, and compares it with its checksums. */

import { crc32 } from "node:zlib";
import { codeStarts } from "../../codec/codec.ts";
import type { IndexInfo } from "../../index/maintain/info.ts";
import type { Damage } from "../../index/maintain/verify.ts";
import { digestOf } from "./digest.ts";
import { missingParts, readParts } from "./import-parts.ts";
import { readProperties, type StoreProperties } from "./properties.ts";
import type { PassageRow, Store } from "./store.ts";

export async function storeInfo(store: Store): Promise<IndexInfo> {
  const { header, codec } = await readProperties(store);
  const { codebook } = codec;
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
}

/** Reads all passages with their codes. */
export async function verifyStore(
  store: Store,
  signal: AbortSignal | undefined,
): Promise<Damage[]> {
  const properties = await readProperties(store);
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
}

function problemOf(
  { passage, digest, codes, checksum, tokens }: PassageRow,
  { header: { dimension }, codec: { codebook } }: StoreProperties,
): string | undefined {
  if (digestOf(passage) !== digest) return "its text or its fields have changed";
  if (crc32(codes) !== checksum) return "its codes have changed";
  const count = codebook ? codeStarts(codes, codebook).length - 1 : codes.length / (4 * dimension);
  return count === tokens ? undefined : `codes of ${count} tokens instead of ${tokens}`;
}
