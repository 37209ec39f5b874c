/** Opens a collection of a store as an index. */

import type { OPEN_OPTIONS } from "../../../options/library-options.ts";
import type { Resolved } from "../../../options/option.ts";
import { openCodePassageScorer } from "../../search/code-passage-scorer.ts";
import { IndexGeneration } from "../../search/generation.ts";
import { openPassageScorer } from "../../search/passage-scorer.ts";
import { openCandidateSearch } from "./candidate-search.ts";
import { storeFilters } from "./filters.ts";
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
  Resolved<typeof OPEN_OPTIONS>,
  "linkBase" | "memoryLimit" | "threads" | "candidates"
>;

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
  const header = { ...properties.header, ...(linkBase !== undefined && { linkBase }) };
  const passages = openStoredPassages(store, properties, statistics, memoryLimit);
  const filters = storeFilters(store, passages);
  const scorer = codec.codebook
    ? openCodePassageScorer(passages, codec.codebook)
    : openPassageScorer(passages, threads);
  const parts = { store, passages, filters, scorer, candidates };
  const words = await openStoreWords(parts, properties, statistics);
  const opened = new IndexGeneration({
    directory: store.address,
    manifest: { header, generation },
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
