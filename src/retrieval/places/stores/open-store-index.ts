/** Opens a collection of a store as an index. */

import { basename } from "node:path";
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
import { readProperties } from "./properties.ts";
import type { Store, StoreStatistics } from "./store.ts";
import { openStoreWords } from "./store-words.ts";
import { openStoredPassages } from "./stored-passages.ts";

/** What tells an open collection from a later one: passages that are found are those of then. */
interface Opened {
  readonly store: Store;
  readonly statistics: StoreStatistics;
  /** How often it was opened again. */
  readonly generation: number;
}

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
  const open = async (than?: Opened) => {
    if (than && !(await hasChanged(than))) return undefined;
    const store = await connect();
    try {
      const opened = await openCollection(store, options, (than?.generation ?? 0) + 1);
      if (!than) await warnOfParts(store);
      return opened;
    } catch (error) {
      await store[Symbol.asyncDispose]();
      throw error;
    }
  };
  return refreshingIndex((await open())!, open);
}

/** Whether passages were added or removed since a collection was opened. */
async function hasChanged({ store, statistics }: Opened): Promise<boolean> {
  return JSON.stringify(await store.statistics()) !== JSON.stringify(statistics);
}

const ownEngine = (given: unknown): InputError =>
  new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where: "engine and preset",
    expected: "neither with a store, which searches itself",
    got: excerpt(given),
    remedy: "leave them out",
  });

/**
 * The index of a collection as it is now. It disposes of the store when it is released.
 *
 * @throws {InputError} if there is no collection, or if another model made it
 */
export async function openCollection(
  store: Store,
  {
    model,
    collection = basename(store.address),
    linkBase,
    memoryLimit,
    threads,
    candidates,
  }: Pick<
    OpenRequest,
    "model" | "collection" | "linkBase" | "memoryLimit" | "threads" | "candidates"
  >,
  generation = 1,
): Promise<OpenGeneration<Opened>> {
  const properties = await readProperties(store);
  const { header, codec } = properties;
  if (model !== undefined) checkModel(store.address, header, model);
  const statistics = await store.statistics();
  const passages = openStoredPassages(store, properties, statistics, memoryLimit);
  const filters = storeFilters(store, passages);
  const scorer = codec.codebook
    ? openCodePassageScorer(passages, codec.codebook)
    : openPassageScorer(passages, threads);
  const parts = { store, passages, filters, scorer, candidates };
  const words = await openStoreWords(parts, properties, statistics);
  const index = new IndexGeneration({
    directory: store.address,
    collection,
    manifest: { header, generation },
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
  return {
    generation: index,
    state: { store, statistics, generation },
    snapshot: store.snapshot,
    release,
  };
}
