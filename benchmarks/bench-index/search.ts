/** Times searches in their own process, and compares what two searches find. */

import { readFile, writeFile } from "node:fs/promises";
import { mean } from "../../src/math/mean.ts";
import { openIndex } from "../../src/retrieval/open-index.ts";
import type { PresetName } from "../../src/retrieval/places/folder/open-engine.ts";
import { ownTask, peakMegabytes, runApart } from "./subprocess.ts";

export const TOP_K = 100;

/** Questions of a batch, as `reatt retrieve --queries` makes them. */
const BATCH = 64;

export interface SearchTask {
  readonly directory: string;
  /** The file of the questions' vectors. */
  readonly questions: string;
  readonly preset: PresetName;
  readonly threads: number;
  readonly memoryLimit?: number;
  /** Number of questions that are searched first, in one batch. */
  readonly searched: number;
  /** Number of these that are timed, one after the other. */
  readonly timed: number;
}

/** Milliseconds. */
export interface SearchTimes {
  /** Median of five openings. */
  readonly open: number;
  /** The first search, which reads from the disk or the system's cache. */
  readonly first: number;
  /** Time of one question after all have been searched once. */
  readonly p50: number;
  readonly p95: number;
  readonly questionsPerSecond: number;
  /** The same in batches of 64. */
  readonly questionsPerSecondInBatches: number;
  readonly peakMegabytes: number;
  /** The ids found for each searched question. */
  readonly found: readonly (readonly string[])[];
}

export const timeSearches = (task: SearchTask): Promise<SearchTimes> =>
  runApart(import.meta.url, task);

async function timeHere(task: SearchTask): Promise<SearchTimes> {
  const { directory, questions: file, searched, timed, ...options } = task;
  const questions = (await readVectors(file)).slice(0, searched);
  const openings: number[] = [];
  for (let i = 0; i < 5; i++) {
    const start = performance.now();
    await using _ = await openIndex(directory, options);
    openings.push(performance.now() - start);
  }
  await using index = await openIndex(directory, options);
  const time = async (question: Float32Array): Promise<number> => {
    const start = performance.now();
    await index.search(question, { topK: TOP_K });
    return performance.now() - start;
  };
  const first = await time(questions[0]!);
  const found = await index.searchBatch(questions, { topK: TOP_K });
  const times: number[] = [];
  for (const question of questions.slice(0, timed)) times.push(await time(question));
  const start = performance.now();
  for (let i = 0; i < timed; i += BATCH)
    await index.searchBatch(questions.slice(i, Math.min(i + BATCH, timed)), { topK: TOP_K });
  const batches = performance.now() - start;
  return {
    open: quantile(openings, 0.5),
    first,
    p50: quantile(times, 0.5),
    p95: quantile(times, 0.95),
    questionsPerSecond: (1000 * times.length) / times.reduce((sum, time) => sum + time, 0),
    questionsPerSecondInBatches: (1000 * times.length) / batches,
    peakMegabytes: peakMegabytes(),
    found: found.map((hits) => hits.map(({ id }) => id)),
  };
}

/** Writes the vectors [tokens, dimension] of each question, for the searching processes. */
export const writeVectors = (path: string, questions: readonly Float32Array[]): Promise<void> =>
  writeFile(path, JSON.stringify(questions.map((question) => Array.from(question))));

export async function readVectors(path: string): Promise<Float32Array[]> {
  const vectors: number[][] = JSON.parse(await readFile(path, "utf8"));
  return vectors.map((vector) => Float32Array.from(vector));
}

/** Mean share of the expected ids that were found, over the questions of both searches. */
export function overlap(
  found: readonly (readonly string[])[],
  expected: readonly (readonly string[])[],
): number {
  const shares = found.slice(0, expected.length).map((ids, i) => {
    const known = new Set(ids);
    return expected[i]!.filter((id) => known.has(id)).length / expected[i]!.length;
  });
  return mean(shares);
}

/** `overlap` of the first `count` ids of each list. */
export function recallAt(
  count: number,
  found: readonly (readonly string[])[],
  expected: readonly (readonly string[])[],
): number {
  const first = (lists: readonly (readonly string[])[]) => lists.map((ids) => ids.slice(0, count));
  return overlap(first(found), first(expected));
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
}

const task = ownTask<SearchTask>(import.meta.url);
if (task) process.stdout.write(JSON.stringify(await timeHere(task)));
