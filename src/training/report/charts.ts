/** Groups the metrics of a log into charts and explains them. */

import type { Term } from "../objectives/objective.ts";
import { type Baseline, measureLabel, type Unit, withoutHybrid } from "./format.ts";
import type { MetricsRecord } from "./metrics-log.ts";

export type Point = readonly [step: number, value: number];

export interface Curve {
  readonly name: string;
  /** At least one, ordered by step. */
  readonly points: readonly Point[];
  /** A constant to compare the curve with. */
  readonly level?: { readonly name: string; readonly value: number } | undefined;
}

export interface Chart {
  readonly title: string;
  readonly meaning: string;
  readonly unit: Unit;
  /** At least one. */
  readonly curves: readonly Curve[];
}

/** A text about the questions of the evaluations. */
type OfQuestions = (questions: string) => string;

interface Definition extends Omit<Chart, "curves" | "title" | "meaning"> {
  readonly title: string | OfQuestions;
  readonly meaning: string | OfQuestions;
  /** Whether the chart shows a metric of this name (a key of metrics.jsonl). */
  readonly has: (metric: string) => boolean;
}

const oneOf =
  (...names: readonly string[]) =>
  (metric: string): boolean =>
    names.includes(metric);

const EVALUATIONS: readonly Definition[] = [
  {
    title: "Mean reciprocal rank",
    meaning: (questions) =>
      `Mean of 1 / rank of the first relevant passage over the ${questions}, by the model and by hybrid search.`,
    unit: "share",
    has: oneOf("mrr", "hybrid/mrr"),
  },
  {
    title: (questions) => `Retrieval: ${questions}`,
    meaning: (questions) => `Share of the ${questions} with a relevant passage among the best k.`,
    unit: "share",
    has: (metric) => /^recall@\d+$/.test(metric),
  },
  {
    title: (questions) => `Hybrid search: ${questions}`,
    meaning: "The same by BM25 and the model together, with the weight that fits the model.",
    unit: "share",
    has: (metric) => /^hybrid\/recall@\d+$/.test(metric),
  },
  {
    title: (questions) => `Answers: ${questions}`,
    meaning: (questions) =>
      `Share of the ${questions} with an exact answer (EM), and mean F1 of the words of answer and accepted answer.`,
    unit: "share",
    has: oneOf("exactMatch", "f1"),
  },
];

/** A chart for each term of the loss, and one for their sum. */
function lossCharts(terms: ReadonlyMap<string, Term>): Definition[] {
  const weighted = [...terms].filter(([, { weight }]) => weight !== 0);
  const sum = weighted.map(([name, { weight }]) => (weight === 1 ? name : `${weight} ${name}`));
  return [
    ...Array.from(
      terms,
      ([name, { title, meaning }]): Definition => ({
        title,
        meaning,
        unit: "number",
        has: oneOf(name),
      }),
    ),
    {
      title: "Loss",
      meaning: `What training minimises: ${sum.join(" + ")}. Compare it only between runs with the same weights.`,
      unit: "number",
      has: oneOf("loss"),
    },
  ];
}

const STATE: readonly Definition[] = [
  {
    title: "Scale of retrieval: exp(s)",
    meaning: "The learned scale of the retrieval scores. It grows as retrieval becomes confident.",
    unit: "number",
    has: oneOf("scale"),
  },
  {
    title: "Head weights",
    meaning:
      "The weight of each attention head in retrieval. One head wins within a few steps. A fixed head has weight 1 from the start.",
    unit: "share",
    has: oneOf("headWeights"),
  },
  {
    title: "Gradient norm",
    meaning: "Before clipping. Repeated spikes indicate that the learning rate is too high.",
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
    meaning: "Training questions per second.",
    unit: "number",
    has: oneOf("questionsPerSecond"),
  },
];

interface ChartOptions {
  readonly baseline?: Baseline | undefined;
  /** The terms of the loss by the names of their metrics. Default: none. */
  readonly terms?: ReadonlyMap<string, Term> | undefined;
  /** What the evaluations ask, in the plural. Default: dev questions. */
  readonly questions?: string | undefined;
}

/** The charts with at least one value in the log. */
export function chartsOf(
  records: readonly MetricsRecord[],
  { baseline, terms = new Map(), questions = "dev questions" }: ChartOptions = {},
): Chart[] {
  const series = seriesOf(records);
  const worded = (text: string | OfQuestions): string =>
    typeof text === "string" ? text : text(questions);
  const definitions = [...EVALUATIONS, ...lossCharts(terms), ...STATE];
  return definitions.flatMap(({ has, title, meaning, unit }) => {
    const drawn = Array.from(series).filter(([metric]) => has(metric));
    const curves = drawn.flatMap(([metric, values]) => curvesOf(metric, values, baseline));
    const texts = { title: worded(title), meaning: worded(meaning) };
    return curves.length > 0 ? [{ ...texts, unit, curves }] : [];
  });
}

type Series = readonly { readonly step: number; readonly values: readonly number[] }[];

/** All metrics of the log that are finite numbers or lists of them, by name. */
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

/** One curve for a number, or one for each head for a list. */
function curvesOf(metric: string, series: Series, baseline?: Baseline): Curve[] {
  const value = baseline?.measures[withoutHybrid(metric)];
  const level = value === undefined ? undefined : { name: baseline!.name, value };
  return series[0]!.values.map((_, i) => ({
    name: metric === "headWeights" ? `head ${i}` : measureLabel(metric),
    points: series.map(({ step, values }): Point => [step, values[i] ?? 0]),
    level,
  }));
}
