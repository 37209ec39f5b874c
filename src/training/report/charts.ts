/** Which metrics are drawn, together with which others, and what a reader should know about them. */

import { type Baseline, measureLabel, type Unit } from "./measures.ts";
import type { MetricsRecord } from "./metrics-log.ts";

export type Point = readonly [step: number, value: number];

export interface Curve {
  readonly name: string;
  /** One at least, by step. */
  readonly points: readonly Point[];
  /** A level to compare the curve with. */
  readonly level?: { readonly name: string; readonly value: number } | undefined;
}

export interface Chart {
  readonly title: string;
  readonly meaning: string;
  readonly unit: Unit;
  /** One at least. */
  readonly curves: readonly Curve[];
}

interface Definition extends Omit<Chart, "curves"> {
  /** Whether a metric of this name is drawn here. */
  readonly has: (metric: string) => boolean;
}

const oneOf =
  (...names: readonly string[]) =>
  (metric: string): boolean =>
    names.includes(metric);

const DEFINITIONS: readonly Definition[] = [
  {
    title: "Retrieval on dev",
    meaning: "Share of dev questions with an accepted answer in one of the k best passages.",
    unit: "share",
    has: (metric) => /^recall@\d+$/.test(metric),
  },
  {
    title: "Answers on dev",
    meaning:
      "Share of dev questions answered exactly (EM), and mean overlap of words with an accepted answer (F1).",
    unit: "share",
    has: oneOf("exactMatch", "f1"),
  },
  {
    title: "Reading loss: nll",
    meaning:
      "Negative log likelihood of a token of the answer. Falls while the model learns to read, and so does the pointer loss where it is minimised.",
    unit: "number",
    has: oneOf("nll", "pointer"),
  },
  {
    title: "Retrieval loss: KL",
    meaning:
      "How far retrieval is from the decoder's attention, over the batch and over a question's own passages.",
    unit: "number",
    has: oneOf("kl", "ownKl"),
  },
  {
    title: "Loss",
    meaning:
      "What is minimised: nll + alpha KL, and the pointer loss by its weight. To be compared only between runs with the same weights.",
    unit: "number",
    has: oneOf("loss"),
  },
  {
    title: "Probability on own passages",
    meaning: "What retrieval gives a question's own close passages, of all passages of the batch.",
    unit: "share",
    has: oneOf("ownProbability"),
  },
  {
    title: "Scale of retrieval: exp(s)",
    meaning: "The learned factor of the retrieval scores. Grows as retrieval becomes sure.",
    unit: "number",
    has: oneOf("scale"),
  },
  {
    title: "Head weights",
    meaning:
      "The share of each attention head in retrieval. One wins within a few steps; a fixed head has all from the start.",
    unit: "share",
    has: oneOf("headWeights"),
  },
  {
    title: "Gradient norm",
    meaning: "Before clipping. Spikes that come back are a sign of too high a learning rate.",
    unit: "number",
    has: oneOf("gradientNorm"),
  },
  {
    title: "Learning rate",
    meaning: "Linear warm-up, then linear decay to 0.",
    unit: "number",
    has: oneOf("learningRate"),
  },
  {
    title: "Speed",
    meaning: "Questions trained on per second.",
    unit: "number",
    has: oneOf("questionsPerSecond"),
  },
];

/** The charts for which the log has something to draw. */
export function chartsOf(records: readonly MetricsRecord[], baseline?: Baseline): Chart[] {
  const series = seriesOf(records);
  return DEFINITIONS.flatMap(({ has, ...chart }) => {
    const drawn = Array.from(series).filter(([metric]) => has(metric));
    const curves = drawn.flatMap(([metric, values]) => curvesOf(metric, values, baseline));
    return curves.length > 0 ? [{ ...chart, curves }] : [];
  });
}

type Series = readonly { readonly step: number; readonly values: readonly number[] }[];

/** Every metric of the log that is a finite number or a list of such, by name. */
function seriesOf(records: readonly MetricsRecord[]): Map<string, Series> {
  const series = new Map<string, { step: number; values: readonly number[] }[]>();
  for (const { step, ...metrics } of records) {
    for (const [name, value] of Object.entries(metrics)) {
      const values = [value].flat();
      if (!values.every((number): number is number => Number.isFinite(number))) continue;
      const known = series.get(name);
      if (known) known.push({ step, values });
      else series.set(name, [{ step, values }]);
    }
  }
  return series;
}

/** One curve, or one for each head where the metric has a number for each. */
function curvesOf(metric: string, series: Series, baseline?: Baseline): Curve[] {
  const value = baseline?.measures[metric];
  const level = value === undefined ? undefined : { name: baseline!.name, value };
  return series[0]!.values.map((_, i) => ({
    name: metric === "headWeights" ? `head ${i}` : measureLabel(metric),
    points: series.map(({ step, values }): Point => [step, values[i] ?? 0]),
    level,
  }));
}
