/** Opens the index in a folder for search. */

import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { BlockCache } from "../../index/blocks/blocks.ts";
import { shareMemory } from "../../index/blocks/shared-blocks.ts";
import {
  type Manifest,
  manifestPath,
  readManifest,
  type SegmentRecord,
} from "../../index/format/manifest.ts";
import { COMPRESSED_FILES, type SegmentOptions } from "../../index/format/segment.ts";
import { openSnapshot } from "../../index/format/snapshot.ts";
import { openStore } from "../../index/format/store.ts";
import { IndexGeneration } from "../../search/generation.ts";
import { openPassageScorer } from "../../search/passage-scorer.ts";
import { openStoredWords } from "../../search/stored-words.ts";
import type { TokenIndex } from "../../search/token-index.ts";
import type { OpenRequest } from "../place.ts";
import { type OpenGeneration, refreshingIndex } from "../refreshing-index.ts";
import { checkModel, warnOfStates } from "../searching-model.ts";
import { checkPreset, openEngine } from "./open-engine.ts";

/** Opens the newest generation of the index in `directory`. */
export async function openFolder(directory: string, options: OpenRequest): Promise<TokenIndex> {
  checkPreset(options);
  let seen: string | undefined;
  const open = async (than?: Manifest) => {
    seen = await stampOf(directory);
    return openGeneration(directory, options, than);
  };
  const hasChanged = async (): Promise<boolean> => {
    const stamp = await stampOf(directory);
    return stamp !== undefined && stamp !== seen;
  };
  return refreshingIndex((await open())!, open, hasChanged);
}

/** Differs between manifests, as each is a file of its own; undefined if there is none. */
async function stampOf(directory: string): Promise<string | undefined> {
  const stats = await stat(manifestPath(directory), { bigint: true }).catch(() => undefined);
  return stats && `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
}

/**
 * Opens the newest generation.
 *
 * @param than the generation that is open; undefined is returned if there is no other
 */
async function openGeneration(
  directory: string,
  options: OpenRequest,
  than: Manifest | undefined,
): Promise<OpenGeneration<Manifest> | undefined> {
  if (than && isDeepStrictEqual(than, await readManifest(directory))) return undefined;
  const { engine, linkBase, memoryLimit, model } = options;
  const { collection = basename(resolve(directory)) } = options;
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
    const openWords = () => openStoredWords(segments);
    const named = { directory, collection, manifest, linkBase };
    const open = { ...named, store, segments, scorer, codebook, openWords };
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
