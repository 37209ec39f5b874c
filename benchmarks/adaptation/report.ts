/** Tables of adaptations: mean and standard deviation over seeds, and what the runs say. */

import { pairedDifference } from "../../src/evaluation/significance.ts";
import { mean } from "../../src/math/mean.ts";
import { COLLECTIONS } from "./collections.ts";
import type { AdaptationFigures } from "./run.ts";

const MEASURES = ["alone", "hybrid"] as const;
type Values = "alone" | "hybrid" | "exactMatch" | "f1";

/** Markdown tables of what has been measured. */
export function reportOf(results: readonly AdaptationFigures[]): string {
  const tables = [retrieval(results), runs(results), answers(results)];
  return tables.filter((text) => text !== "").join("\n\n");
}

/** nDCG@10 before and after, and the gain with an interval over queries. */
function retrieval(results: readonly AdaptationFigures[]): string {
  const rows = ofCollections(results, (name, before, after) =>
    MEASURES.map((measure) => [
      `${name} (${before[measure].length}), ${measure === "alone" ? "model" : "hybrid"}`,
      points(mean(before[measure])),
      ...after.map((one) => points(mean(one[measure]))),
      ...summary(before, after, measure),
    ]),
  );
  return table(
    ["nDCG@10", "before", ...seedsOf(results), "mean, sd", "gain (95 % interval)"],
    rows,
  );
}

/** The verdict of each run beside the gain on the test queries. */
function runs(results: readonly AdaptationFigures[]): string {
  const rows = ofCollections(results, (name, before, after) =>
    after.map(({ seed, run, lambda, ...figures }) => [
      `${name}, seed ${seed}`,
      `${run!.kept} of ${run!.steps}${run!.refused ? ", refused" : ""}`,
      ...[run!.gain, run!.hybridGain].map(
        ({ difference, interval }) =>
          `${signed(1_000 * difference)} (${interval.map((end) => signed(1_000 * end)).join(" to ")})`,
      ),
      `${run!.examples}`,
      MEASURES.map((measure) => signed(mean(figures[measure]) - mean(before[measure]))).join(" / "),
      `${before.lambda} → ${lambda}`,
      run!.minutes.toFixed(0),
    ]),
  );
  const heads = ["kept step", "examples: model", "hybrid", "number", "test: model / hybrid"];
  return table(["", ...heads, "lambda", "minutes"], rows);
}

/** Answers of hybrid search. */
function answers(results: readonly AdaptationFigures[]): string {
  const rows = ofCollections(results, (name, before, after) =>
    (["exactMatch", "f1"] as const).flatMap((measure) => {
      if (!before[measure]) return [];
      const scale = measure === "exactMatch" ? 1_000 : 1;
      return [
        [
          `${name} (${before[measure].length}), ${measure === "f1" ? "F1" : "exact match"}`,
          points(scale * mean(before[measure])),
          ...after.map((one) => points(scale * mean(one[measure]!))),
          ...summary(before, after, measure, scale),
        ],
      ];
    }),
  );
  return table(
    ["answers", "before", ...seedsOf(results), "mean, sd", "gain (95 % interval)"],
    rows,
  );
}

/** Rows of each collection that was measured before, with its runs in the order of the seeds. */
const ofCollections = (
  results: readonly AdaptationFigures[],
  rowsOf: (
    name: string,
    before: AdaptationFigures,
    after: readonly AdaptationFigures[],
  ) => string[][],
): string[][] =>
  Object.keys(COLLECTIONS).flatMap((name) => {
    const ofName = results.filter(({ collection }) => collection === name);
    const before = ofName.find(({ seed }) => seed === undefined);
    const after = ofName.filter(({ seed }) => seed !== undefined).sort((a, b) => a.seed! - b.seed!);
    return before && after.length > 0 ? rowsOf(name, before, after) : [];
  });

const seedsOf = (results: readonly AdaptationFigures[]): string[] =>
  [...new Set(results.flatMap(({ seed }) => seed ?? []))].sort().map((seed) => `seed ${seed}`);

/** Mean and deviation over seeds; the gain of the mean over seeds, paired by query. */
function summary(
  before: AdaptationFigures,
  after: readonly AdaptationFigures[],
  measure: Values,
  scale = 1,
): string[] {
  const means = after.map((one) => mean(one[measure]!));
  const average = mean(means);
  const squares = means.reduce((sum, value) => sum + (value - average) ** 2, 0);
  const deviation = Math.sqrt(squares / Math.max(1, means.length - 1));
  const ofQueries = before[measure]!.map((_, i) => mean(after.map((one) => one[measure]![i]!)));
  const { difference, interval } = pairedDifference(before[measure]!, ofQueries);
  return [
    `${points(scale * average)}${means.length > 1 ? ` ${points(scale * deviation)}` : ""}`,
    `${signed(scale * difference)} (${interval.map((end) => signed(scale * end)).join(" to ")})`,
  ];
}

/** Rows with fewer seeds than others are filled before their last two cells. No rows: no table. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const filled = rows.map((row) => {
    const missing = Array<string>(head.length - row.length).fill("");
    return [...row.slice(0, -2), ...missing, ...row.slice(-2)];
  });
  return [head, head.map(() => "---"), ...filled]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

/** Of thousandths. */
const points = (value: number): string => (value / 10).toFixed(1);
const signed = (value: number): string => `${value < 0 ? "-" : "+"}${points(Math.abs(value))}`;
