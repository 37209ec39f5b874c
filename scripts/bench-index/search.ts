/** How fast a search is, and how much of what exact search finds it finds. */

import { openIndex, type PresetName } from "../../src/retrieval/open.ts";

export const TOP_K = 100;

export interface SearchTimes {
  /** Milliseconds, median of some openings. */
  readonly open: number;
  /** Milliseconds a question, one after the other. */
  readonly p50: number;
  readonly p95: number;
  readonly questionsPerSecond: number;
  /** Question -> the ids found. */
  readonly found: readonly (readonly string[])[];
}

export async function timeSearches(
  directory: string,
  questions: readonly Float32Array[],
  options: { readonly preset: PresetName; readonly threads: number },
): Promise<SearchTimes> {
  const openings: number[] = [];
  for (let i = 0; i < 5; i++) {
    const start = performance.now();
    await using _ = await openIndex(directory, options);
    openings.push(performance.now() - start);
  }
  await using index = await openIndex(directory, options);
  for (const question of questions.slice(0, 10)) await index.search(question, { topK: TOP_K }); // warm
  const times: number[] = [];
  const found: string[][] = [];
  for (const question of questions) {
    const start = performance.now();
    const hits = await index.search(question, { topK: TOP_K });
    times.push(performance.now() - start);
    found.push(hits.map(({ id }) => id));
  }
  const total = times.reduce((sum, time) => sum + time, 0);
  return {
    open: quantile(openings, 0.5),
    p50: quantile(times, 0.5),
    p95: quantile(times, 0.95),
    questionsPerSecond: (1000 * times.length) / total,
    found,
  };
}

/** The mean share of the expected ids that were found. */
export function overlap(
  found: readonly (readonly string[])[],
  expected: readonly (readonly string[])[],
): number {
  const shares = found.map((ids, i) => {
    const known = new Set(ids);
    return expected[i]!.filter((id) => known.has(id)).length / expected[i]!.length;
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
}
