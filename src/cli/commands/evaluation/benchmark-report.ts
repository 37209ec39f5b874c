/** The tables of `reatt benchmark`. */

import type { PairedDifference } from "../../../evaluation/significance.ts";
import type { TunedLambda } from "../../../evaluation/tune-lambda.ts";
import { type System, TUNED_MEASURE } from "./benchmark-systems.ts";

const COLUMNS = ["ndcg@10", "mrr@10", "recall@100", "map"] as const;

/** How lambda was chosen. */
export interface Tuned extends Pick<TunedLambda, "lambda" | "tried"> {
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
  readonly comparisons?: readonly Comparison[];
}

/** A system of a model, beside that of the first model. */
export interface Comparison extends PairedDifference {
  readonly name: string;
  readonly against: string;
}

export function formatBenchmark(benchmark: Benchmark): string {
  const { split, queries, passages, topK, tuned, systems, comparisons = [] } = benchmark;
  const [first, ...others] = COLUMNS;
  const rows = systems.map(({ name, milliseconds, measures, interval: [low, high] }) => [
    name,
    measures[first]!.toFixed(4),
    `${low.toFixed(2)}-${high.toFixed(2)}`,
    ...others.map((column) => measures[column]!.toFixed(4)),
    milliseconds.toFixed(1),
  ]);
  const table = [["", first, "95 %", ...others, "ms/query"], ...rows];
  const width = Math.max(...table.map(([name]) => name!.length));
  const lines = table.map(([name, ...cells]) =>
    [name!.padEnd(width), ...cells.map((cell) => cell.padStart(12))].join(""),
  );
  return [
    `${split}: ${queries} queries, ${passages} passages, ${topK} retrieved`,
    ...lines,
    ...comparisons.map(comparisonLine),
    ...(tuned ? [tunedLine(tuned)] : []),
  ].join("\n");
}

function comparisonLine({ name, against, difference, interval, p }: Comparison): string {
  const signed = (value: number): string => `${value < 0 ? "" : "+"}${value.toFixed(4)}`;
  const [low, high] = interval.map(signed);
  const probability = p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;
  return `${name} against ${against}: ${signed(difference)} ${COLUMNS[0]}, 95 % ${low} to ${high}, ${probability}`;
}

/** The systems with all measures, as comma-separated values (RFC 4180). */
export function csvOf(systems: readonly System[]): string {
  const measures = Object.keys(systems[0]!.measures);
  const cell = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const rows = systems.map(({ name, milliseconds, interval, measures: values }) => [
    cell(name),
    ...measures.map((measure) => values[measure]!),
    ...interval,
    milliseconds,
  ]);
  const head = ["system", ...measures, `${COLUMNS[0]} low`, `${COLUMNS[0]} high`, "ms/query"];
  return [head, ...rows].map((row) => row.join(",")).join("\n");
}

const tunedLine = ({ lambda, split, queries, ...measured }: Tuned): string =>
  `lambda ${lambda}: best ${TUNED_MEASURE} on ${split} (${queries} queries), ` +
  `${measured[TUNED_MEASURE].toFixed(4)}; reatt retrieve --lambda ${lambda} ranks so`;
