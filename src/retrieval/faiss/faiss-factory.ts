/**
 * Approximate search on faiss-node with an index from a factory string, such as `IVF256,PQ16`,
 * `OPQ16,IVF1024,PQ16` or `HNSW32`. The index finds the nearest tokens by inner product; passages
 * are rescored exactly (token-search.ts).
 * Source: https://github.com/facebookresearch/faiss/wiki/The-index-factory
 *
 * For `PQ16` faiss runs a polysemous training, which takes minutes and has no effect here. `PQ16np`
 * is the same index without it.
 */

import { InputError } from "../../io/errors.ts";
import type { FAISS_OPTIONS } from "../../options/library-options.ts";
import type { Given } from "../../options/option.ts";
import type { KeyStore } from "../index/format/store.ts";
import type { SearchEngine } from "../search/engine.ts";
import { type FillOptions, openTokenSearch } from "../search/token-search.ts";
import { type Faiss, type FaissIndex, fillIndex, findTokens, loadFaiss } from "./faiss.ts";

export interface FaissFactory extends Given<typeof FAISS_OPTIONS> {}

const INNER_PRODUCT = 0; // faiss/MetricType.h
const DEFAULT_NPROBE = 16;

/**
 * Training vectors for each centroid: the most that faiss uses (it warns below 39). Source:
 * faiss/Clustering.h
 */
const KEYS_PER_CENTROID = 256;
/** Training vectors of a rotation. Source: faiss/VectorTransform.h, `max_train_points` */
const ROTATION_KEYS = 65_536;
/** The most values of a training array: 256 MB at 8 bytes each. */
const MAX_TRAINING_VALUES = 33_554_432;

/**
 * Trains the index on a sample of the keys and fills it, in memory.
 *
 * @throws {InputError} if faiss-node is not installed or rejects the factory string, or if there
 * are fewer keys than centroids to learn
 */
export async function openFaissFactorySearch(
  store: KeyStore,
  { factory, nprobe }: FaissFactory,
  { threads, onProgress, signal }: FillOptions,
): Promise<SearchEngine> {
  const { Index } = await loadFaiss();
  const report = (tokens: number) => onProgress?.({ tokens, total: store.keyCount });
  const empty = createIndex(Index, factory, store.dimension);
  if (nprobe !== undefined && !hasLists(factory)) throw noLists(factory, nprobe);
  report(0);
  if (!empty.isTrained()) empty.train(await trainingKeys(store, factory, signal));
  const index = hasLists(factory) ? withNprobe(Index, empty, nprobe ?? DEFAULT_NPROBE) : empty;
  const filled = await fillIndex(index, store, { onTokens: report, signal });
  return openTokenSearch(
    store,
    {
      find: async (question, count) => findTokens(filled, question, store.dimension, count),
      async [Symbol.asyncDispose]() {},
    },
    threads,
  );
}

function createIndex(Index: Faiss["Index"], factory: string, dimension: number): FaissIndex {
  // An IDMap needs ids from the caller; faiss-node aborts the process without them.
  if (factory.includes("IDMap")) throw unusable(factory, "IDMap, which needs ids from the caller");
  try {
    return Index.fromFactory(dimension, factory, INNER_PRODUCT);
  } catch (cause) {
    const message = (cause as Error).message.replace(/^.* at \S+:\d+: (Error: )?/s, "");
    throw unusable(factory, `${message} (${dimension} dimensions, inner product)`, cause);
  }
}

const hasLists = (factory: string): boolean => /IVF|IMI/.test(factory);

/** The keys of passages at equal distances in the index, [tokens, dimension]. */
async function trainingKeys(
  store: KeyStore,
  factory: string,
  signal: AbortSignal | undefined,
): Promise<number[]> {
  const { dimension, keyCount, ordinalCount } = store;
  const centroids = largestCodebook(factory);
  const wanted = Math.min(
    Math.max(KEYS_PER_CENTROID * centroids, ROTATION_KEYS),
    MAX_TRAINING_VALUES / dimension,
    keyCount,
  );
  const passages = Math.ceil((wanted * ordinalCount) / keyCount);
  const numbers: number[] = [];
  for (let p = 0; p < passages; p++) {
    signal?.throwIfAborted();
    for (const number of await store.keys(Math.floor((p * ordinalCount) / passages)))
      numbers.push(number);
  }
  const keys = numbers.length / dimension;
  if (keys >= centroids) return numbers;
  throw unusable(factory, `${keys} token keys to learn ${centroids} centroids from`);
}

/**
 * The number of centroids of the largest codebook that a factory string describes. With fewer
 * training vectors, faiss-node aborts the process. (`OPQ16` learns codes as `PQ16` does.)
 */
export function largestCodebook(factory: string): number {
  const lists = Array.from(factory.matchAll(/IVF(\d+)/g), ([, count]) => Number(count));
  const codes = Array.from(
    factory.matchAll(/(?:PQ|RQ|LSQ|IMI)\d+(?:_\d+)?(?:x(\d+))?/g),
    ([, bits]) => 2 ** Number(bits ?? 8),
  );
  return Math.max(1, ...lists, ...codes);
}

/**
 * The header of every index has 2^20 twice, 16 bytes from its start. Source:
 * faiss/impl/index_write.cpp
 */
const HEADER_MARK = Buffer.from(BigUint64Array.of(1n << 20n, 1n << 20n).buffer);
const MARK_AT = 16;
const NPROBE_AT = 45;

/**
 * A copy of a trained, empty index that reads `nprobe` lists. faiss-node has no setter for it, so
 * the value is written to the serialised index: it is a uint64 behind the header and the number of
 * lists of each inverted file, whose type starts with `Iw`.
 */
function withNprobe(Index: Faiss["Index"], empty: FaissIndex, nprobe: number): FaissIndex {
  const bytes = empty.toBuffer();
  for (
    let mark = bytes.indexOf(HEADER_MARK);
    mark >= 0;
    mark = bytes.indexOf(HEADER_MARK, mark + 1)
  ) {
    const start = mark - MARK_AT;
    if (bytes.toString("latin1", start, start + 2) === "Iw")
      bytes.writeBigUInt64LE(BigInt(nprobe), start + NPROBE_AT);
  }
  return Index.fromBuffer(bytes);
}

const noLists = (factory: string, nprobe: number): InputError =>
  new InputError({
    where: `nprobe of ${factory}`,
    expected: "an index with lists, such as IVF256,PQ16",
    got: String(nprobe),
    remedy: "leave it out",
  });

const unusable = (factory: string, got: string, cause?: unknown): InputError =>
  new InputError(
    {
      where: `faiss factory ${JSON.stringify(factory)}`,
      expected: "an index of these token keys",
      got,
      remedy: "choose another, or the exact engine faiss",
    },
    { cause },
  );
