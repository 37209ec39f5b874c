/** Opens a token index for search. */

import { isDeepStrictEqual } from "node:util";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { checkPath } from "../options/arguments.ts";
import { OPEN_OPTIONS } from "../options/library-options.ts";
import { callback, type Given, type Resolved, SIGNAL } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import { BlockCache } from "./index/blocks/blocks.ts";
import { shareMemory } from "./index/blocks/shared-blocks.ts";
import { type Manifest, readManifest, type SegmentRecord } from "./index/format/manifest.ts";
import { COMPRESSED_FILES, type SegmentOptions } from "./index/format/segment.ts";
import { openSnapshot } from "./index/format/snapshot.ts";
import { openStore } from "./index/format/store.ts";
import { checkPreset, openEngine } from "./open-engine.ts";
import { connectStore, isStoreAddress } from "./places/address.ts";
import { warnOfParts } from "./places/stores/import-parts.ts";
import {
  generationOf,
  hasChanged,
  type OpenCollection,
  openCollection,
} from "./places/stores/open-store-index.ts";
import { retrying, SEARCH_PAUSES } from "./places/stores/retry.ts";
import { type OpenGeneration, refreshingIndex } from "./refreshing-index.ts";
import { IndexGeneration } from "./search/generation.ts";
import { openPassageScorer } from "./search/passage-scorer.ts";
import { openStoredWords } from "./search/stored-words.ts";
import type { TokenIndex } from "./search/token-index.ts";
import type { FillProgress } from "./search/token-search.ts";
import { checkModel, type SearchingModel, warnOfStates } from "./searching-model.ts";

const OPTIONS = {
  ...OPEN_OPTIONS,
  /** Receives how far `engine` has filled an index of its own. */
  onProgress: callback<(progress: FillProgress) => void>(),
  ...SIGNAL,
};

export interface OpenOptions
  extends Given<typeof OPEN_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof OPTIONS> {}

type ResolvedOpenOptions = Resolved<typeof OPTIONS>;

/**
 * Opens the newest generation of the index in `directory`, or the collection of a store at an
 * address.
 *
 * @param model that searches; the index must have its fingerprint
 * @throws {InputError} if there is no index, if it is damaged, if another model built it, or if an
 * option cannot be used
 */
export async function openIndex(
  directory: string,
  options?: OpenOptions,
  model?: SearchingModel,
): Promise<TokenIndex> {
  checkPath(directory, "directory");
  const settings = resolveOptions(OPTIONS, options);
  if (isStoreAddress(directory)) return openInStore(directory, settings, model);
  checkPreset(settings);
  const open = (than?: Manifest) => openGeneration(directory, settings, model, than);
  return refreshingIndex((await open())!, open);
}

/** Opens a collection of a store. */
async function openInStore(
  address: string,
  options: ResolvedOpenOptions,
  model: SearchingModel | undefined,
): Promise<TokenIndex> {
  const { preset, engine } = options;
  if (preset !== undefined || engine !== "onnxruntime") throw ownEngine(preset ?? engine);
  const open = async (than?: OpenCollection) => {
    if (than && !(await hasChanged(than))) return undefined;
    const store = retrying(await connectStore(address), SEARCH_PAUSES);
    try {
      const opened = await openCollection(store, (than?.generation ?? 0) + 1);
      if (model !== undefined) checkModel(store.address, opened.properties.header, model);
      if (!than) await warnOfParts(store);
      return { ...(await generationOf(opened, options)), state: opened };
    } catch (error) {
      await store[Symbol.asyncDispose]();
      throw error;
    }
  };
  return refreshingIndex((await open())!, open);
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
 * Opens the newest generation.
 *
 * @param than the generation that is open; undefined is returned if there is no other
 */
async function openGeneration(
  directory: string,
  options: ResolvedOpenOptions,
  model: SearchingModel | undefined,
  than: Manifest | undefined,
): Promise<OpenGeneration<Manifest> | undefined> {
  if (than && isDeepStrictEqual(than, await readManifest(directory))) return undefined;
  const { engine, linkBase, memoryLimit } = options;
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
    const { codebook } = snapshot.codec;
    const store = openStore(segments, manifest.header.dimension);
    const searchEngine = await openEngine(store, snapshot, options);
    const scorer = openPassageScorer(searchEngine.keys ?? store, options.threads);
    const header = linkBase === undefined ? manifest.header : { ...manifest.header, linkBase };
    const shown = { ...manifest, header };
    const openWords = () => openStoredWords(segments);
    const open = { directory, manifest: shown, store, scorer, codebook, openWords };
    const release = async () => {
      await searchEngine[Symbol.asyncDispose]();
      await scorer[Symbol.asyncDispose]();
      await snapshot[Symbol.asyncDispose]();
    };
    return {
      generation: new IndexGeneration({ ...open, engine: searchEngine }),
      state: manifest,
      release,
    };
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
