/** Opens a token index. */

import { InputError } from "../io/errors.ts";
import type { Codebook } from "./codec/codec.ts";
import { rotate } from "./codec/opq-rotation.ts";
import { type FaissFactory, openFaissFactorySearch } from "./faiss/faiss-factory.ts";
import { openFaissSearch } from "./faiss/faiss-search.ts";
import { BlockCache } from "./index/format/blocks.ts";
import type { IndexHeader, SegmentRecord } from "./index/format/manifest.ts";
import { openSnapshot, type Snapshot } from "./index/format/snapshot.ts";
import { openStore, type PassageStore } from "./index/format/store.ts";
import { type LanceTable, openLanceSearch } from "./lance/lance-search.ts";
import { openCentroidSearch, type Pruning } from "./search/centroid-search.ts";
import { rotatingEngine, type SearchEngine } from "./search/engine.ts";
import { openFlatSearch } from "./search/flat-search.ts";
import { openPassageScorer } from "./search/passage-scorer.ts";
import { checkTopK, type SearchOptions, type TokenIndex } from "./search/token-index.ts";
import type { FillOptions } from "./search/token-search.ts";

export interface OpenOptions extends FillOptions {
  /** Of the model that asks. Throws `InputError` where another made the index. */
  readonly fingerprint?: string | undefined;
  /** Default `onnxruntime`. */
  readonly engine?: Engine | undefined;
  /** How onnxruntime searches a compressed index; default `balanced`. One of float32 keys is searched exactly. */
  readonly preset?: PresetName | undefined;
  /** Bytes of keys that stay in memory between searches; default 1 GiB. What is above is read at every search. */
  readonly memoryLimit?: number | undefined;
}

/**
 * What searches. `faiss` needs the optional package faiss-node: by its name alone it is exact and finds what onnxruntime
 * finds with the preset `exact`; with a factory string it is approximate. `lancedb` searches the table that
 * `exportToLance` made of the index, and is approximate. Whatever searches, scores are exact.
 */
export type Engine =
  | "onnxruntime"
  | "faiss"
  | ({ readonly name: "faiss" } & FaissFactory)
  | ({ readonly name: "lancedb" } & LanceTable);

/** `exact` scores every passage, by its keys as the index has them. */
export type PresetName = "fast" | "balanced" | "exact";

const PRESETS: Record<Exclude<PresetName, "exact">, Pruning> = {
  fast: { nprobe: 32, candidatesPerHit: 32 },
  balanced: { nprobe: 64, candidatesPerHit: 96 },
};

const GIBIBYTE = 2 ** 30;

/** Opens the index in `directory`. Throws `InputError` where there is none, it is damaged, or of another model. */
export async function openIndex(directory: string, options: OpenOptions = {}): Promise<TokenIndex> {
  const { fingerprint, engine, memoryLimit = GIBIBYTE } = options;
  // An exact search of float32 keys keeps them in memory in a form of its own.
  const snapshot = await openSnapshot(directory, ({ codebook }) =>
    codebook || typeof engine === "object" ? new BlockCache(memoryLimit) : undefined,
  );
  const { manifest, segments } = snapshot;
  try {
    if (fingerprint !== undefined) checkModel(directory, manifest.header, fingerprint);
    const store = openStore(segments, manifest.header.dimension);
    return await openTokenIndex(directory, snapshot, store, options);
  } catch (error) {
    await snapshot[Symbol.asyncDispose]();
    throw error;
  }
}

function openEngine(
  store: PassageStore,
  records: readonly SegmentRecord[],
  codebook: Codebook | undefined,
  options: OpenOptions,
): Promise<SearchEngine> {
  const { engine = "onnxruntime", preset = "balanced", memoryLimit = GIBIBYTE, threads } = options;
  const empty = store.keyCount === 0; // faiss ends the process where it has nothing to train on or to search
  if (engine === "faiss" && !empty) return openFaissSearch(store, threads);
  if (typeof engine === "object" && !empty)
    return engine.name === "faiss"
      ? openFaissFactorySearch(store, engine, options)
      : openLanceSearch(store, records, engine, threads);
  // decompressed keys are not kept: their codes are, in the block cache
  if (!codebook || preset === "exact")
    return openFlatSearch(store, codebook ? 0 : memoryLimit, threads);
  return openCentroidSearch(store, codebook, PRESETS[preset], threads);
}

async function openTokenIndex(
  directory: string,
  snapshot: Snapshot,
  store: PassageStore,
  options: OpenOptions,
): Promise<TokenIndex> {
  const { header, generation, segments: records } = snapshot.manifest;
  const { codebook } = snapshot.codec;
  const keyEngine = await openEngine(store, records, codebook, options);
  const scorer = openPassageScorer(store, options.threads);
  const engine = codebook ? rotatingEngine(keyEngine, codebook.rotation) : keyEngine;
  const searchBatch: TokenIndex["searchBatch"] = async (questions, { topK, filter, signal }) => {
    checkTopK(topK);
    checkVectors(questions, header.dimension);
    const accept = await acceptor(store, filter);
    const found = await engine.search(questions, { topK, accept, signal });
    return Promise.all(
      found.map((hits) =>
        Promise.all(
          hits.map(async (hit) => ({ id: (await store.passage(hit.ordinal)).id, ...hit })),
        ),
      ),
    );
  };
  return {
    directory,
    header,
    generation,
    passageCount: store.passageCount,
    tokenCount: store.tokenCount,
    searchBatch,
    search: async (question, options) => (await searchBatch([question], options))[0]!,
    async score(question, ordinals) {
      checkVectors([question], header.dimension);
      const query = codebook ? rotate(question, codebook.rotation, header.dimension) : question;
      return scorer.score(query, ordinals);
    },
    passages: (ordinals) => Promise.all(ordinals.map((ordinal) => store.passage(ordinal))),
    async *entries() {
      for (let ordinal = 0; ordinal < store.ordinalCount; ordinal++)
        if (store.isAlive(ordinal)) yield [ordinal, await store.passage(ordinal)];
    },
    find: (id) => store.find(id),
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      await scorer[Symbol.asyncDispose]();
      await snapshot[Symbol.asyncDispose]();
    },
  };
}

/** What a search may find: passages that are alive and pass the filter. */
async function acceptor(
  store: PassageStore,
  filter: SearchOptions["filter"],
): Promise<(ordinal: number) => boolean> {
  if (!filter) return store.isAlive;
  if (typeof filter === "function") return (ordinal) => store.isAlive(ordinal) && filter(ordinal);
  const ordinals = new Set(await Promise.all(Array.from(filter, store.find)));
  return (ordinal) => ordinals.has(ordinal);
}

function checkModel(directory: string, header: IndexHeader, fingerprint: string): void {
  if (header.fingerprint === fingerprint) return;
  throw new InputError({
    where: directory,
    expected: `an index of the model ${fingerprint}`,
    got: `one of the model ${header.fingerprint}`,
    remedy: "ask with the model that made the index, or build the index again with this one",
  });
}

function checkVectors(questions: readonly Float32Array[], dimension: number): void {
  for (const { length } of questions)
    if (length === 0 || length % dimension !== 0)
      throw new Error(`a question of ${length} numbers is not [tokens, ${dimension}]`);
}
