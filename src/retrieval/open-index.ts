/** Opens a token index for search. */

import { isDeepStrictEqual } from "node:util";
import type { StoredStates } from "../encoder/state-cache.ts";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import {
  checkId,
  checkOrdinals,
  checkPath,
  checkPositions,
  checkVectorList,
  checkVectors,
} from "../options/arguments.ts";
import { OPEN_OPTIONS } from "../options/library-options.ts";
import { callback, type Given, type Resolved, SIGNAL } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import type { Codebook } from "./codec/codec.ts";
import { rotate, rotateBack } from "./codec/opq-rotation.ts";
import { type FaissFactory, openFaissFactorySearch } from "./faiss/faiss-factory.ts";
import { openFaissSearch } from "./faiss/faiss-search.ts";
import { BlockCache } from "./index/format/blocks.ts";
import { openCompressedStore } from "./index/format/compressed-store.ts";
import {
  type IndexHeader,
  type Manifest,
  readManifest,
  type SegmentRecord,
  type StatesHeader,
} from "./index/format/manifest.ts";
import { packedTokens, unpackStates } from "./index/format/packed-states.ts";
import { COMPRESSED_FILES, type SegmentOptions } from "./index/format/segment.ts";
import { shareMemory } from "./index/format/shared-blocks.ts";
import { openSnapshot, type Snapshot } from "./index/format/snapshot.ts";
import { openStore, type PassageStore } from "./index/format/store.ts";
import { type LanceTable, openLanceSearch } from "./lance/lance-search.ts";
import { type OpenGeneration, refreshingIndex } from "./refreshing-index.ts";
import type { ScoredPassage } from "./scoring/top-k.ts";
import { type CentroidSearchOptions, openCentroidSearch } from "./search/centroid-search.ts";
import { rotatingEngine, type SearchEngine } from "./search/engine.ts";
import { openFlatSearch } from "./search/flat-search.ts";
import { parallelSearch } from "./search/parallel-search.ts";
import { matchTokens, openPassageScorer, tokenProducts } from "./search/passage-scorer.ts";
import {
  type IndexGeneration,
  SEARCH_OPTIONS,
  type SearchHit,
  type SearchOptions,
  type TokenIndex,
} from "./search/token-index.ts";
import type { FillOptions, FillProgress } from "./search/token-search.ts";
import { createMatcher } from "./where/matcher.ts";
import { whereSchema } from "./where/where.ts";

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

/** The most decoded keys that exact search of a compressed index keeps in memory. */
const KEPT_KEYS = 524_288; // 537 MB with 256 dimensions

/**
 * Bytes of decoded token keys up to which a compressed index is searched exactly by default. The
 * first search decodes them, half a second, and later ones are faster than those of a preset
 * (docs/experiments/search.md).
 */
const SMALL_BYTES = 2 ** 26;

/** `exact` scores all passages. The others score candidates; `balanced` scores more than `fast`. */
export type PresetName = "fast" | "balanced" | "exact";

const PRESETS: Record<Exclude<PresetName, "exact">, CentroidSearchOptions> = {
  fast: { nprobe: 32, candidatesPerHit: 32 },
  balanced: { nprobe: 64, candidatesPerHit: 128 },
};

/**
 * Opens the newest generation of the index in `directory`.
 *
 * @param model that searches; the index must have its fingerprint
 * @throws {InputError} if there is no index, if it is damaged, if another model built it, or if an
 * option cannot be used
 */
export async function openIndex(
  directory: string,
  given?: OpenOptions,
  model?: SearchingModel,
): Promise<TokenIndex> {
  checkPath(directory, "directory");
  const options = resolveOptions(OPTIONS, given);
  checkPreset(options);
  const open = (than?: Manifest) => openGeneration(directory, options, model, than);
  return refreshingIndex((await open())!, open);
}

/**
 * Opens the newest generation.
 *
 * @param than the generation that is open; undefined is returned if there is no other
 */
async function openGeneration(
  directory: string,
  options: ResolvedOpenOptions,
  model: SearchingModel | undefined,
  than: Manifest | undefined,
): Promise<OpenGeneration | undefined> {
  if (than && isDeepStrictEqual(than, await readManifest(directory))) return undefined;
  const { engine, memoryLimit } = options;
  const snapshot = await openSnapshot(directory, ({ codebook }, { segments }) => {
    if (codebook) return compressedMemory(segments, memoryLimit);
    // An exact search of float32 keys keeps them in memory in its own form (aligned-keys.ts).
    return typeof engine === "object" ? { cache: new BlockCache(memoryLimit) } : {};
  });
  const { manifest, segments } = snapshot;
  try {
    if (model !== undefined) {
      checkModel(directory, manifest.header, model);
      warnOfStates(directory, manifest.header, model);
    }
    const store = openStore(segments, manifest.header.dimension);
    return await openForSearch(directory, snapshot, store, options);
  } catch (error) {
    await snapshot[Symbol.asyncDispose]();
    throw error;
  }
}

/** The share of the memory that is kept for other files than codes and lists. */
const OTHER_FILES = 1 / 8;

/** Memory of at most `limit` bytes for a compressed index. */
function compressedMemory(
  segments: readonly SegmentRecord[],
  limit: number,
): Pick<SegmentOptions, "cache" | "shared"> {
  const sizes = segments.flatMap(({ files }) => COMPRESSED_FILES.map((name) => files[name]!.bytes));
  const shared = shareMemory(sizes, (1 - OTHER_FILES) * limit);
  return { shared, cache: new BlockCache(limit - shared.blocks.byteLength) };
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
  snapshot: Snapshot,
  options: ResolvedOpenOptions,
): Promise<SearchEngine> {
  const { segments, codec } = snapshot;
  const { codebook } = codec;
  const { engine, memoryLimit, threads } = options;
  const decodedBytes = store.keyCount * 4 * store.dimension;
  const canKeep = store.keyCount <= KEPT_KEYS && decodedBytes <= memoryLimit;
  const hasVectors = snapshot.manifest.header.pooling !== undefined; // a question reads few lists
  const isSmall = canKeep && (hasVectors || decodedBytes <= SMALL_BYTES);
  const preset = options.preset ?? (isSmall ? "exact" : "balanced");
  const empty = store.keyCount === 0; // faiss aborts the process if there are no keys
  if (engine === "faiss" && !empty) return openFaissSearch(store, threads);
  if (typeof engine === "object" && !empty)
    return engine.name === "faiss"
      ? openFaissFactorySearch(store, engine, options)
      : openLanceSearch(
          store,
          segments.map(({ record }) => record),
          engine,
          threads,
        );
  // Of a large compressed index, the block cache keeps the codes instead.
  if (!codebook || preset === "exact")
    return openFlatSearch(store, codebook && !canKeep ? 0 : memoryLimit, threads);
  return openPreset(snapshot, codebook, PRESETS[preset], threads);
}

async function openPreset(
  { segments, codec: { decoder }, shared }: Snapshot,
  codebook: Codebook,
  options: CentroidSearchOptions,
  threads: number | undefined,
): Promise<SearchEngine> {
  const compressed = segments.map(({ record: { passages, longestKey }, compressed }) => ({
    ...{ passages, longestKey, ...compressed! },
  }));
  const store = openCompressedStore(compressed, codebook.dimension, decoder);
  const engine = await openCentroidSearch(store, codebook, options);
  const plain = compressed.map(({ passages, longestKey, files }) => ({
    ...{ passages, longestKey, files },
  }));
  return parallelSearch(engine, { shared: shared!, segments: plain, codebook, options }, threads);
}

async function openForSearch(
  directory: string,
  snapshot: Snapshot,
  store: PassageStore,
  options: ResolvedOpenOptions,
): Promise<OpenGeneration> {
  const { manifest } = snapshot;
  const { header, generation } = manifest;
  const { codebook } = snapshot.codec;
  const keyEngine = await openEngine(store, snapshot, options);
  const engine = codebook ? rotatingEngine(keyEngine, codebook.rotation) : keyEngine;
  const scorer = openPassageScorer(engine.keys ?? store, options.threads);
  const rotated = (question: Float32Array) =>
    codebook ? rotate(question, codebook.rotation, header.dimension) : question;
  const withId = async (hit: ScoredPassage): Promise<SearchHit> => ({
    id: (await store.passage(hit.ordinal)).id,
    ...hit,
  });
  const matcher = createMatcher(store);
  const searchBatch: IndexGeneration["searchBatch"] = async (questions, given) => {
    const { topK, filter, signal } = resolveOptions(SEARCH, given);
    checkVectorList(questions, header.dimension);
    const accept = await acceptor(store, filter);
    const few = filter && fewAccepted(store, accept, topK);
    const found = few
      ? await scorer.best(questions.map(rotated), few, topK, signal)
      : await engine.search(questions, { topK, accept, signal });
    const named: SearchHit[][] = [];
    for (const hits of found) named.push(await Promise.all(hits.map(withId)));
    return named;
  };
  const opened: IndexGeneration = {
    directory,
    header,
    generation,
    passageCount: store.passageCount,
    tokenCount: store.tokenCount,
    searchBatch,
    search: async (question, options) => (await searchBatch([question], options))[0]!,
    async score(question, ordinals) {
      checkVectors(question, header.dimension);
      checkOrdinals(ordinals, store.ordinalCount);
      return scorer.score(rotated(question), ordinals);
    },
    async matches(question, ordinal) {
      checkVectors(question, header.dimension);
      checkOrdinals([ordinal], store.ordinalCount);
      return matchTokens(store, rotated(question), ordinal);
    },
    async products(question, ordinal) {
      checkVectors(question, header.dimension);
      checkOrdinals([ordinal], store.ordinalCount);
      return tokenProducts(store, rotated(question), ordinal);
    },
    async keys(ordinal, positions) {
      checkOrdinals([ordinal], store.ordinalCount);
      const all = await store.keys(ordinal);
      if (positions) checkPositions(positions, all.length / header.dimension);
      const keys = positions ? rowsOf(all, positions, header.dimension) : all;
      return codebook ? rotateBack(keys, codebook.rotation, header.dimension) : keys.slice();
    },
    async passages(ordinals) {
      checkOrdinals(ordinals, store.ordinalCount);
      return Promise.all(ordinals.map((ordinal) => store.passage(ordinal)));
    },
    async states(ordinals) {
      checkOrdinals(ordinals, store.ordinalCount);
      return header.states && Promise.all(ordinals.map(storedStates(store, header.states)));
    },
    async *entries() {
      for (let ordinal = 0; ordinal < store.ordinalCount; ordinal++)
        if (store.isAlive(ordinal)) yield [ordinal, await store.passage(ordinal)];
    },
    async matching(given) {
      return matcher(resolveOptions(WHERE, { where: given }).where);
    },
    async find(id) {
      checkId(id);
      return store.find(id);
    },
  };
  const release = async () => {
    await engine[Symbol.asyncDispose]();
    await scorer[Symbol.asyncDispose]();
    await snapshot[Symbol.asyncDispose]();
  };
  return { generation: opened, manifest, release };
}

/** Reads the packed states of a passage, which take half of the memory of the others. */
const storedStates =
  (store: PassageStore, { size }: StatesHeader) =>
  async (ordinal: number): Promise<StoredStates> => {
    const { packed, file } = await store.packedStates(ordinal);
    const unpack = () => unpackStates(packed, size, file);
    return { tokens: packedTokens(packed, size), unpack };
  };

const WHERE = { where: whereSchema };

/** Passages that are scored without an engine, which would look at more of them. */
const FEW_PASSAGES = 512;

/**
 * The accepted passages if they are so few that scoring all of them is exact and cheap with every
 * engine; undefined if there are more.
 */
function fewAccepted(
  { ordinalCount }: Pick<PassageStore, "ordinalCount">,
  accept: (ordinal: number) => boolean,
  topK: number,
): Uint32Array | undefined {
  const most = Math.max(FEW_PASSAGES, topK);
  const accepted: number[] = [];
  for (let ordinal = 0; ordinal < ordinalCount && accepted.length <= most; ordinal++)
    if (accept(ordinal)) accepted.push(ordinal);
  return accepted.length <= most ? Uint32Array.from(accepted) : undefined;
}

/** Copies of rows: [rows, dimension] -> [positions, dimension]. */
function rowsOf(rows: Float32Array, positions: readonly number[], dimension: number): Float32Array {
  const copy = new Float32Array(positions.length * dimension);
  for (const [i, at] of positions.entries())
    copy.set(rows.subarray(at * dimension, (at + 1) * dimension), i * dimension);
  return copy;
}

/** The passages that a search may return: those that are not deleted and pass the filter. */
async function acceptor(
  store: PassageStore,
  filter: SearchOptions["filter"],
): Promise<(ordinal: number) => boolean> {
  if (!filter) return store.passageCount === store.ordinalCount ? () => true : store.isAlive;
  if (typeof filter === "function") return (ordinal) => store.isAlive(ordinal) && filter(ordinal);
  const ordinals = new Set(await Promise.all(Array.from(filter, store.find)));
  return (ordinal) => ordinals.has(ordinal);
}

/** What decides whether a model can search an index. */
export interface SearchingModel extends Pick<IndexHeader, "fingerprint" | "pooling"> {
  /** Identifies the weights that make the states for reading. */
  readonly statesFingerprint?: string | undefined;
}

/** @throws {InputError} if another model built the index */
export function checkModel(directory: string, header: IndexHeader, model: SearchingModel): void {
  if (header.fingerprint === model.fingerprint) return;
  const isPooledElse = header.pooling !== model.pooling;
  throw new InputError({
    where: directory,
    expected: isPooledElse
      ? `an index with ${keysOf(model)}`
      : `an index of the model ${model.fingerprint}`,
    got: isPooledElse ? `one with ${keysOf(header)}` : `one of the model ${header.fingerprint}`,
    remedy: "use the model that made the index, or build the index again with this one",
  });
}

/** Reading computes states of another model again. Such a model has the keys of the index. */
function warnOfStates(directory: string, { states }: IndexHeader, model: SearchingModel): void {
  if (states === undefined || states.fingerprint === model.statesFingerprint) return;
  process.emitWarning(
    `${directory}: expected states that this model reads, got those of another; ` +
      "answers do not use them: build the index again with --keep-states",
    "ReAttWarning",
  );
}

const keysOf = ({ pooling }: Pick<SearchingModel, "pooling">): string =>
  pooling === undefined ? "a key for each token" : `a key for each passage (pooling ${pooling})`;
