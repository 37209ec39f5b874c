/** A chart as an HTML figure. The page's script (page.ts) draws it from `data-chart`. */

import { mean } from "../../math/mean.ts";
import type { Chart, Curve } from "./charts.ts";
import { formatNumber, type Html, html, type Unit } from "./format.ts";

/** Number of colours in the style sheet. Further curves are grey. */
const COLOURS = 5;

/** The JSON in `data-chart`, which the page's script reads. */
export interface ChartData {
  readonly unit: Unit;
  readonly steps: readonly number[];
  readonly curves: readonly (ThinCurve & {
    /** A class of the style sheet; the variable `--CLASS` has the colour. */
    readonly colour: string;
    /** A horizontal line for comparison. */
    readonly level: number | undefined;
    /** Formatted means for the legend. Curves in grey have none. */
    readonly texts: readonly (string | null)[] | undefined;
  })[];
}

/**
 * A figure of title, meaning, drawing area and legend. The legend shows the last values until the
 * pointer is over the chart.
 */
export function figure({ title, meaning, unit, curves }: Chart): Html {
  const colours = colourClasses(curves);
  const { steps, curves: thinned } = thin(curves);
  const data: ChartData = {
    unit,
    steps,
    curves: thinned.map((curve, i) => ({
      ...curve,
      colour: colours[i]!,
      level: curves[i]!.level?.value,
      texts: colours[i] === "other" ? undefined : curve.mean.map((value) => format(value, unit)),
    })),
  };
  const named = curves.flatMap((curve, i) =>
    colours[i] === "other" ? [] : [legendEntry(curve, colours[i]!, unit)],
  );
  const others = curves.length - named.length;
  return html`<figure data-chart="${JSON.stringify(data, rounded)}">
<figcaption><h3>${title}</h3><p>${meaning}</p></figcaption>
<div class="plot" role="img" aria-label="${title}"></div>
<ul class="legend">${named}${others > 0 ? html`<li class="other"><i></i>${others} more</li>` : undefined}<li class="at"></li></ul>
</figure>`;
}

/** Seven digits are exact enough for a screen, and for steps. They halve the size of a report. */
const rounded = (_: string, value: unknown): unknown =>
  typeof value === "number" ? Number(value.toPrecision(7)) : value;

const format = (value: number | null, unit: Unit): string | null =>
  value === null ? null : formatNumber(value, unit);

/** Of many curves, those with the highest last values have colours. */
function colourClasses(curves: readonly Curve[]): string[] {
  const byEnd = curves.toSorted((a, b) => b.points.at(-1)![1] - a.points.at(-1)![1]);
  const chosen = curves.filter((curve) => byEnd.indexOf(curve) < COLOURS);
  return curves.map((curve) => (chosen.includes(curve) ? `c${chosen.indexOf(curve)}` : "other"));
}

const legendEntry = ({ name, points, level }: Curve, colour: string, unit: Unit): Html =>
  html`<li class="${colour}"><i></i>${name} <b>${formatNumber(points.at(-1)![1], unit)}</b>${
    level && html` <small>${level.name} ${formatNumber(level.value, unit)}, dashed</small>`
  }</li>`;

/** The values of a curve in each bucket of steps; null if it has none there. */
export interface ThinCurve {
  readonly mean: readonly (number | null)[];
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

export interface ThinCurves {
  /** The last step of each bucket, ascending. */
  readonly steps: readonly number[];
  /** In the order of the given curves. */
  readonly curves: readonly ThinCurve[];
}

const MAX_BUCKETS = 200; // about two pixels each

/** Divides the steps of all curves into at most 200 buckets with equal numbers of steps. */
export function thin(curves: readonly Curve[]): ThinCurves {
  const all = new Set(curves.flatMap(({ points }) => points.map(([step]) => step)));
  const sorted = [...all].sort((a, b) => a - b);
  const count = Math.min(sorted.length, MAX_BUCKETS);
  const bucketOf = new Map(
    sorted.map((step, i) => [step, Math.floor((i * count) / sorted.length)]),
  );
  const steps: number[] = [];
  for (const step of sorted) steps[bucketOf.get(step)!] = step;
  return { steps, curves: curves.map((curve) => thinCurve(curve, count, bucketOf)) };
}

function thinCurve(
  { points }: Curve,
  count: number,
  bucketOf: ReadonlyMap<number, number>,
): ThinCurve {
  const buckets: number[][] = Array.from({ length: count }, () => []);
  for (const [step, value] of points) buckets[bucketOf.get(step)!]!.push(value);
  const reduced = (reduce: (values: readonly number[]) => number): (number | null)[] =>
    buckets.map((values) => (values.length === 0 ? null : reduce(values)));
  return {
    mean: reduced(mean),
    low: reduced((values) => Math.min(...values)),
    high: reduced((values) => Math.max(...values)),
  };
}
