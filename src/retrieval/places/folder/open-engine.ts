/** Chooses the search engine of an index. */

import { InputError } from "../../../io/errors.ts";
import { excerpt } from "../../../io/excerpt.ts";
import type { Codebook } from "../../codec/codec.ts";
import { type FaissFactory, openFaissFactorySearch } from "../../faiss/faiss-factory.ts";
import { openFaissSearch } from "../../faiss/faiss-search.ts";
import { openCompressedStore } from "../../index/format/compressed-store.ts";
import type { Snapshot } from "../../index/format/snapshot.ts";
import type { KeyStore } from "../../index/format/store.ts";
import { type CentroidSearchOptions, openCentroidSearch } from "../../search/centroid-search.ts";
import type { SearchEngine } from "../../search/engine.ts";
import { openFlatSearch } from "../../search/flat-search.ts";
import { parallelSearch } from "../../search/parallel-search.ts";
import type { FillOptions } from "../../search/token-search.ts";

/**
 * The search engine. `faiss` needs the optional package faiss-node: the string "faiss" gives an
 * exact search with the results of onnxruntime and preset `exact`; a factory string gives an
 * approximate one. The scores of the hits are exact with every engine.
 */
export type Engine = "onnxruntime" | "faiss" | ({ readonly name: "faiss" } & FaissFactory);

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

/** How to open an engine. */
export interface EngineOptions extends FillOptions {
  readonly engine: Engine;
  /** Default: by the size of the index. */
  readonly preset?: PresetName | undefined;
  /** Bytes of keys, codes and lists that stay in memory. */
  readonly memoryLimit: number;
}

/** @throws {InputError} if there is a preset and the engine has none */
export function checkPreset({ engine, preset }: EngineOptions): void {
  if (preset === undefined || engine === "onnxruntime") return;
  throw new InputError({
    where: "preset",
    expected: "no preset with another engine than onnxruntime",
    got: excerpt(preset),
    remedy: "leave the preset or the engine out",
  });
}

/** An engine for the keys of a generation. Its questions are rotated, if the keys are. */
export function openEngine(
  store: KeyStore,
  snapshot: Snapshot,
  options: EngineOptions,
): Promise<SearchEngine> {
  const { codebook } = snapshot.codec;
  const { engine, memoryLimit, threads } = options;
  const decodedBytes = store.keyCount * 4 * store.dimension;
  const canKeep = store.keyCount <= KEPT_KEYS && decodedBytes <= memoryLimit;
  const hasVectors = snapshot.manifest.header.pooling !== undefined; // a question reads few lists
  const isSmall = canKeep && (hasVectors || decodedBytes <= SMALL_BYTES);
  const preset = options.preset ?? (isSmall ? "exact" : "balanced");
  const empty = store.keyCount === 0; // faiss aborts the process if there are no keys
  if (engine === "faiss" && !empty) return openFaissSearch(store, threads);
  if (typeof engine === "object" && !empty) return openFaissFactorySearch(store, engine, options);
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
  const compressed = segments.map(({ record, compressed }) => ({
    passages: record.passages,
    longestKey: record.longestKey,
    codes: compressed!.codes,
    lists: compressed!.lists,
  }));
  const files = segments.map(({ record, compressed }) => ({
    passages: record.passages,
    longestKey: record.longestKey,
    files: compressed!.files,
  }));
  const store = openCompressedStore(compressed, codebook.dimension, decoder);
  const engine = await openCentroidSearch(store, codebook, options);
  return parallelSearch(engine, { shared: shared!, segments: files, codebook, options }, threads);
}
