/** Opens a collection of a store as an index. */

import { InputError } from "../../../io/errors.ts";
import { excerpt } from "../../../io/excerpt.ts";
import { openCodePassageScorer } from "../../search/code-passage-scorer.ts";
import { IndexGeneration } from "../../search/generation.ts";
import { openPassageScorer } from "../../search/passage-scorer.ts";
import type { TokenIndex } from "../../search/token-index.ts";
import type { OpenRequest } from "../place.ts";
import { type OpenGeneration, refreshingIndex } from "../refreshing-index.ts";
import { checkModel } from "../searching-model.ts";
import { openCandidateSearch } from "./candidate-search.ts";
import { storeFilters } from "./filters.ts";
import { warnOfParts } from "./import-parts.ts";
import { readProperties, type StoreProperties } from "./properties.ts";
import type { Store, StoreStatistics } from "./store.ts";
import { openStoreWords } from "./store-words.ts";
import { openStoredPassages } from "./stored-passages.ts";

/** An open collection, as of a time: passages that are found later are those of then. */
export interface OpenCollection {
  readonly store: Store;
  readonly properties: StoreProperties;
  readonly statistics: StoreStatistics;
  /** How often it was opened again. */
  readonly generation: number;
}

export type CollectionOptions = Pick<
  OpenRequest,
  "linkBase" | "memoryLimit" | "threads" | "candidates"
>;

/**
 * Opens a collection. Refreshed, it connects anew.
 *
 * @throws {InputError} for an engine or a preset: a store searches itself
 */
export async function openInStore(
  connect: () => Promise<Store>,
  options: OpenRequest,
): Promise<TokenIndex> {
  const { preset, engine } = options;
  if (preset !== undefined || engine !== "onnxruntime") throw ownEngine(preset ?? engine);
  const open = (than?: OpenCollection) => openNewer(connect, options, than);
  return refreshingIndex((await open())!, open);
}

/** @param than the collection as it is open; undefined is returned if it is still the same */
async function openNewer(
  connect: () => Promise<Store>,
  options: OpenRequest,
  than: OpenCollection | undefined,
): Promise<OpenGeneration<OpenCollection> | undefined> {
  if (than && !(await hasChanged(than))) return undefined;
  const store = await connect();
  try {
    const opened = await openCollection(store, (than?.generation ?? 0) + 1);
    const { model } = options;
    if (model !== undefined) checkModel(store.address, opened.properties.header, model);
    if (!than) await warnOfParts(store);
    return { ...(await generationOf(opened, options)), state: opened };
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

const ownEngine = (given: unknown): InputError =>
  new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where: "engine and preset",
    expected: "neither with a store, which searches itself",
    got: excerpt(given),
    remedy: "leave them out",
  });

/** What is in the collection of a store now. */
export async function openCollection(store: Store, generation = 1): Promise<OpenCollection> {
  const properties = await readProperties(store);
  return { store, properties, statistics: await store.statistics(), generation };
}

/** The index of an open collection. */
export async function generationOf(
  { store, properties, statistics, generation }: OpenCollection,
  { linkBase, memoryLimit, threads, candidates }: CollectionOptions,
): Promise<{ readonly generation: IndexGeneration; release(): Promise<void> }> {
  const { codec } = properties;
  const passages = openStoredPassages(store, properties, statistics, memoryLimit);
  const filters = storeFilters(store, passages);
  const scorer = codec.codebook
    ? openCodePassageScorer(passages, codec.codebook)
    : openPassageScorer(passages, threads);
  const parts = { store, passages, filters, scorer, candidates };
  const words = await openStoreWords(parts, properties, statistics);
  const opened = new IndexGeneration({
    directory: store.address,
    manifest: { header: properties.header, generation },
    linkBase,
    store: passages,
    engine: openCandidateSearch(parts),
    scorer,
    codebook: codec.codebook,
    openWords: async () => words,
    remote: { ...filters, passages: passages.passages },
  });
  const release = async () => {
    await scorer[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  };
  return { generation: opened, release };
}

/** Whether passages were added or removed since a collection was opened. */
export async function hasChanged({ store, statistics }: OpenCollection): Promise<boolean> {
  const now = await store.statistics();
  return JSON.stringify(now) !== JSON.stringify(statistics);
}
