/** The table of `reatt benchmark`. */

import type { TunedLambda } from "../retrieval/hybrid.ts";
import { type System, TUNED_MEASURE } from "./benchmark-systems.ts";

const COLUMNS = ["ndcg@10", "recall@100", "map", "mrr"] as const;

/** How lambda was chosen. */
interface Tuned extends Pick<TunedLambda, "lambda" | "tried"> {
  readonly split: string;
  readonly queries: number;
  readonly [TUNED_MEASURE]: number;
}

interface Benchmark {
  readonly split: string;
  readonly queries: number;
  readonly passages: number;
  readonly topK: number;
  readonly tuned: Tuned | undefined;
  readonly systems: readonly System[];
}

export function formatBenchmark(benchmark: Benchmark): string {
  const { split, queries, passages, topK, tuned, systems } = benchmark;
  const rows = systems.map(({ name, milliseconds, measures }) => [
    name,
    ...COLUMNS.map((column) => measures[column]!.toFixed(4)),
    milliseconds.toFixed(1),
  ]);
  const table = [["", ...COLUMNS, "ms/query"], ...rows];
  const width = Math.max(...table.map(([name]) => name!.length));
  const lines = table.map(([name, ...cells]) =>
    [name!.padEnd(width), ...cells.map((cell) => cell.padStart(12))].join(""),
  );
  return [
    `${split}: ${queries} queries, ${passages} passages, ${topK} retrieved`,
    ...lines,
    ...(tuned ? [tunedLine(tuned)] : []),
  ].join("\n");
}

const tunedLine = ({ lambda, split, queries, ...measured }: Tuned): string =>
  `lambda ${lambda}: best ${TUNED_MEASURE} on ${split} (${queries} queries), ` +
  `${measured[TUNED_MEASURE].toFixed(4)}; reatt retrieve --lambda ${lambda} ranks so`;
