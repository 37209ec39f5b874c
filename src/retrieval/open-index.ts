/** Opens a token index for search. */

import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { Lifetime } from "../io/lifetime.ts";
import {
  checkId,
  checkOrdinals,
  checkPath,
  checkVectorList,
  checkVectors,
} from "../options/arguments.ts";
import { OPEN_OPTIONS } from "../options/library-options.ts";
import { callback, type Given, type Resolved, SIGNAL } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import type { Codebook } from "./codec/codec.ts";
import { rotate } from "./codec/opq-rotation.ts";
import { type FaissFactory, openFaissFactorySearch } from "./faiss/faiss-factory.ts";
import { openFaissSearch } from "./faiss/faiss-search.ts";
import { BlockCache } from "./index/format/blocks.ts";
import type { IndexHeader, SegmentRecord } from "./index/format/manifest.ts";
import { openSnapshot, type Snapshot } from "./index/format/snapshot.ts";
import { openStore, type PassageStore } from "./index/format/store.ts";
import { type LanceTable, openLanceSearch } from "./lance/lance-search.ts";
import type { ScoredPassage } from "./scoring/top-k.ts";
import { type CentroidSearchOptions, openCentroidSearch } from "./search/centroid-search.ts";
import { rotatingEngine, type SearchEngine } from "./search/engine.ts";
import { openFlatSearch } from "./search/flat-search.ts";
import { openPassageScorer } from "./search/passage-scorer.ts";
import {
  SEARCH_OPTIONS,
  type SearchHit,
  type SearchOptions,
  type TokenIndex,
} from "./search/token-index.ts";
import type { FillOptions, FillProgress } from "./search/token-search.ts";

const OPTIONS = {
  ...OPEN_OPTIONS,
  onProgress: callback<(progress: FillProgress) => void>(),
  ...SIGNAL,
};

export interface OpenOptions
  extends Given<typeof OPEN_OPTIONS>,
    Pick<FillOptions, "onProgress" | "signal"> {}

type ResolvedOpenOptions = Resolved<typeof OPTIONS>;

/** A search checks its options at every call. */
const SEARCH = { ...SEARCH_OPTIONS, ...SIGNAL };

/**
 * The search engine. `faiss` needs the optional package faiss-node: the string "faiss" gives an
 * exact search with the results of onnxruntime and preset `exact`; a factory string gives an
 * approximate one. `lancedb` searches the table of `exportToLance`, approximately. The scores of
 * the hits are exact with every engine.
 */
export type Engine =
  | "onnxruntime"
  | "faiss"
  | ({ readonly name: "faiss" } & FaissFactory)
  | ({ readonly name: "lancedb" } & LanceTable);

/** `exact` scores all passages. The others score candidates; `balanced` scores more than `fast`. */
export type PresetName = "fast" | "balanced" | "exact";

const PRESETS: Record<Exclude<PresetName, "exact">, CentroidSearchOptions> = {
  fast: { nprobe: 32, candidatesPerHit: 32 },
  balanced: { nprobe: 64, candidatesPerHit: 96 },
};

/**
 * Opens the newest generation of the index in `directory`.
 *
 * @param fingerprint that of the model that searches; the index must have the same
 * @throws {InputError} if there is no index, if it is damaged, if another model built it, or if an
 * option cannot be used
 */
export async function openIndex(
  directory: string,
  given?: OpenOptions,
  fingerprint?: string,
): Promise<TokenIndex> {
  checkPath(directory, "directory");
  const options = resolveOptions(OPTIONS, given);
  checkPreset(options);
  const { engine, memoryLimit } = options;
  // An exact search of float32 keys keeps them in memory in its own form (aligned-keys.ts).
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

/** @throws {InputError} if there is a preset and the engine has none */
function checkPreset({ engine, preset }: ResolvedOpenOptions): void {
  if (preset === undefined || engine === "onnxruntime") return;
  throw new InputError({
    where: "preset",
    expected: "no preset with another engine than onnxruntime",
    got: excerpt(preset),
    remedy: "leave the preset or the engine out",
  });
}

function openEngine(
  store: PassageStore,
  records: readonly SegmentRecord[],
  codebook: Codebook | undefined,
  options: ResolvedOpenOptions,
): Promise<SearchEngine> {
  const { engine, preset = "balanced", memoryLimit, threads } = options;
  const empty = store.keyCount === 0; // faiss aborts the process if there are no keys
  if (engine === "faiss" && !empty) return openFaissSearch(store, threads);
  if (typeof engine === "object" && !empty)
    return engine.name === "faiss"
      ? openFaissFactorySearch(store, engine, options)
      : openLanceSearch(store, records, engine, threads);
  // Decoded keys are not kept in memory: the block cache keeps their codes.
  if (!codebook || preset === "exact")
    return openFlatSearch(store, codebook ? 0 : memoryLimit, threads);
  return openCentroidSearch(store, codebook, PRESETS[preset], threads);
}

async function openTokenIndex(
  directory: string,
  snapshot: Snapshot,
  store: PassageStore,
  options: ResolvedOpenOptions,
): Promise<TokenIndex> {
  const { header, generation, segments: records } = snapshot.manifest;
  const { codebook } = snapshot.codec;
  const keyEngine = await openEngine(store, records, codebook, options);
  const scorer = openPassageScorer(store, options.threads);
  const engine = codebook ? rotatingEngine(keyEngine, codebook.rotation) : keyEngine;
  const lifetime = new Lifetime(directory, "open the index again");
  const withId = async (hit: ScoredPassage): Promise<SearchHit> => ({
    id: (await store.passage(hit.ordinal)).id,
    ...hit,
  });
  const searchBatch: TokenIndex["searchBatch"] = (questions, given) =>
    lifetime.use(async () => {
      const { topK, filter, signal } = resolveOptions(SEARCH, given);
      checkVectorList(questions, header.dimension);
      const accept = await acceptor(store, filter);
      const found = await engine.search(questions, { topK, accept, signal });
      return Promise.all(found.map((hits) => Promise.all(hits.map(withId))));
    });
  const close = (): Promise<void> =>
    lifetime.close(async () => {
      await engine[Symbol.asyncDispose]();
      await scorer[Symbol.asyncDispose]();
      await snapshot[Symbol.asyncDispose]();
    });
  return {
    directory,
    header,
    generation,
    passageCount: store.passageCount,
    tokenCount: store.tokenCount,
    searchBatch,
    search: async (question, options) => (await searchBatch([question], options))[0]!,
    score: (question, ordinals) =>
      lifetime.use(async () => {
        checkVectors(question, header.dimension);
        checkOrdinals(ordinals, store.ordinalCount);
        const query = codebook ? rotate(question, codebook.rotation, header.dimension) : question;
        return scorer.score(query, ordinals);
      }),
    passages: (ordinals) =>
      lifetime.use(async () => {
        checkOrdinals(ordinals, store.ordinalCount);
        return Promise.all(ordinals.map((ordinal) => store.passage(ordinal)));
      }),
    async *entries() {
      for (let ordinal = 0; ordinal < store.ordinalCount; ordinal++)
        if (store.isAlive(ordinal))
          yield [ordinal, await lifetime.use(() => store.passage(ordinal))];
    },
    find: (id) =>
      lifetime.use(async () => {
        checkId(id);
        return store.find(id);
      }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The passages that a search may return: those that are not deleted and pass the filter. */
async function acceptor(
  store: PassageStore,
  filter: SearchOptions["filter"],
): Promise<(ordinal: number) => boolean> {
  if (!filter) return store.isAlive;
  if (typeof filter === "function") return (ordinal) => store.isAlive(ordinal) && filter(ordinal);
  const ordinals = new Set(await Promise.all(Array.from(filter, store.find)));
  return (ordinal) => ordinals.has(ordinal);
}

/** @throws {InputError} if another model built the index */
export function checkModel(directory: string, header: IndexHeader, fingerprint: string): void {
  if (header.fingerprint === fingerprint) return;
  throw new InputError({
    where: directory,
    expected: `an index of the model ${fingerprint}`,
    got: `one of the model ${header.fingerprint}`,
    remedy: "use the model that made the index, or build the index again with this one",
  });
}
