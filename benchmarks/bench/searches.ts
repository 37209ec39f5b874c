/**
 * Compresses an index of float32 keys, and compares searches of both: CPU time and recall; and
 * what hybrid search adds.
 */

import { join } from "node:path";
import type { HybridWeights } from "../../src/model/config.ts";
import { type Bits, float32Decoder } from "../../src/retrieval/codec/codec.ts";
import { type EncodedQuestion, hybridSearch } from "../../src/retrieval/hybrid.ts";
import { readManifest } from "../../src/retrieval/index/format/manifest.ts";
import { openSegments } from "../../src/retrieval/index/format/snapshot.ts";
import { openStore } from "../../src/retrieval/index/format/store.ts";
import { folderInfo } from "../../src/retrieval/index/maintain/info.ts";
import { buildIndex } from "../../src/retrieval/index/write/build.ts";
import { openIndex } from "../../src/retrieval/open-index.ts";
import type { PresetName } from "../../src/retrieval/places/folder/open-engine.ts";
import type { Passage } from "../../src/text/passage.ts";
import { recallAt } from "../bench-index/search.ts";
import { secondsSince } from "./timing.ts";

/** What a search of an index costs and finds. */
export interface SearchRow {
  readonly bits: number;
  readonly preset: PresetName;
  readonly topK: number;
  /** Of the compression, in seconds. */
  readonly compression: number;
  readonly bytesPerToken: number;
  /** Processor time of a question, without its encoding and the reading of passages. */
  readonly milliseconds: number;
  /** Of a hybrid question, beside `milliseconds` in the same run. */
  readonly hybridMilliseconds: number;
  /** Shares of the best passages by float32 keys. */
  readonly recallAt10: number;
  readonly recallAt100?: number;
}

/** Questions that one index answers before the next: so all meet the same machine. */
const TURN = 5;

/** Compresses an index of float32 keys, and returns the processor time in seconds. */
export async function compress(exact: string, directory: string, bits: Bits): Promise<number> {
  const { header, segments } = await readManifest(exact);
  const decoder = float32Decoder(header.dimension);
  await using opened = await openSegments([{ directory: exact, segments }], { decoder });
  const store = openStore(opened.segments, header.dimension);
  async function* passages(): AsyncGenerator<Passage, void> {
    for (let ordinal = 0; ordinal < store.passageCount; ordinal++) yield store.passage(ordinal);
  }
  let copied = 0;
  let start = process.cpuUsage();
  await buildIndex(passages(), {
    directory,
    header,
    bits,
    encode: (window) => Promise.all(window.map(() => store.keys(copied++))),
    onProgress: ({ event, passages }) => {
      if (event === "compressed" && passages === 0) start = process.cpuUsage();
    },
  });
  return secondsSince(start);
}

export interface Searches {
  readonly rows: readonly SearchRow[];
  /** Ids of the 100 best passages of each question by float32 keys. */
  readonly exact: readonly (readonly string[])[];
}

/** Searches the index in turns with its compressed forms, which it makes in `folder`. */
export async function compareSearches(
  exact: string,
  folder: string,
  questions: readonly EncodedQuestion[],
  weights: HybridWeights,
): Promise<Searches> {
  const rows: SearchRow[] = [];
  const costs = new Map<Bits, number>();
  for (const bits of [2, 4] as const)
    costs.set(bits, await compress(exact, join(folder, `bits ${bits}`), bits));
  const searched = [
    { directory: exact, bits: 32, preset: "exact" },
    ...([2, 4] as const).flatMap((bits) =>
      (["fast", "balanced"] as const).map((preset) => {
        return { directory: join(folder, `bits ${bits}`), bits, preset };
      }),
    ),
  ] as const;
  let best: readonly (readonly string[])[] = [];
  for (const topK of [100, 10]) {
    const found = await searchInTurns(searched, questions, topK, weights);
    if (topK === 100) best = found[0]!.ids;
    for (const [i, { directory, bits, preset }] of searched.entries()) {
      const { bytes, tokens } = await folderInfo(directory);
      const recall = (count: number) => recallAt(count, found[i]!.ids, found[0]!.ids);
      rows.push({
        bits,
        preset,
        topK,
        compression: costs.get(bits as Bits) ?? 0,
        bytesPerToken: bytes / tokens,
        milliseconds: (1000 * found[i]!.seconds) / questions.length,
        hybridMilliseconds: (1000 * found[i]!.hybridSeconds) / questions.length,
        recallAt10: recall(10),
        ...(topK === 100 && { recallAt100: recall(100) }),
      });
    }
  }
  return { rows, exact: best };
}

async function searchInTurns(
  searched: readonly { readonly directory: string; readonly preset: PresetName }[],
  questions: readonly EncodedQuestion[],
  topK: number,
  weights: HybridWeights,
): Promise<{ ids: string[][]; seconds: number; hybridSeconds: number }[]> {
  const opened = [];
  for (const { directory, preset } of searched)
    opened.push(await openIndex(directory, { preset, threads: 1, memoryLimit: 2 ** 31 }));
  const found = opened.map(() => ({ ids: [] as string[][], seconds: 0, hybridSeconds: 0 }));
  for (const isWarm of [false, true])
    for (let from = 0; from < questions.length; from += TURN)
      for (const [i, index] of opened.entries()) {
        const turn = questions.slice(from, from + TURN);
        const start = process.cpuUsage();
        for (const { vectors } of turn) await index.rankings([vectors], { topK });
        const hybridStart = process.cpuUsage();
        await index.snapshot(async (generation) => {
          for (const question of turn)
            await hybridSearch(generation, weights, [question], { topK });
        });
        if (isWarm) {
          found[i]!.hybridSeconds += secondsSince(hybridStart);
          found[i]!.seconds += secondsSince(start) - secondsSince(hybridStart);
          continue;
        }
        for (const { vectors } of turn) {
          const hits = await index.search(vectors, { topK });
          found[i]!.ids.push(hits.map(({ id }) => id));
        }
      }
  for (const index of opened) await index[Symbol.asyncDispose]();
  return found;
}

/** A line for each row. */
export function searchLines(rows: readonly SearchRow[]): [name: string, value: string][] {
  return rows.map((row) => [
    `search, ${row.bits} bits`,
    `${row.preset}, top ${row.topK}: ${row.milliseconds.toFixed(1)} ms of CPU a question, ` +
      `hybrid ${row.hybridMilliseconds.toFixed(1)}, ` +
      `recall@10 ${row.recallAt10.toFixed(3)}, ` +
      (row.recallAt100 === undefined ? "" : `@100 ${row.recallAt100.toFixed(3)}, `) +
      `${row.bytesPerToken.toFixed(0)} bytes a token, ${row.compression.toFixed(1)} s to compress`,
  ]);
}
