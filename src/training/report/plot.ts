/** A chart as inline SVG: a line for each curve and, where many points share a pixel, their range behind it. */

import { FRAME, scaleLinear, ticksAround, wholeTicksWithin } from "./axis.ts";
import type { Chart, Curve } from "./charts.ts";
import { type Html, html } from "./html.ts";
import { formatCount, formatNumber, formatTick, type Unit } from "./measures.ts";
import { type Bucket, thin } from "./thin.ts";

/** The style sheet has so many colours; further curves are grey. */
const COLOURS = 5;
/** Curves of so few points show each of them. */
const MAX_DOTS = 24;

interface Line {
  readonly curve: Curve;
  readonly buckets: readonly Bucket[];
  /** A class of the style sheet. */
  readonly colour: string;
}

interface Axes {
  readonly x: (step: number) => number;
  readonly y: (value: number) => number;
  readonly steps: readonly number[];
  readonly ticks: readonly number[];
}

/** A figure: title, meaning, picture and legend, and what the page's script needs to show values under the pointer. */
export function plot({ title, meaning, unit, curves }: Chart): Html {
  const lines = coloured(curves);
  const named = lines.filter(({ colour }) => colour !== "other");
  const axes = axesOf(lines);
  return html`<figure data-points="${JSON.stringify(named.map((line) => pointsUnderPointer(line, axes, unit)))}">
<figcaption><h3>${title}</h3><p>${meaning}</p></figcaption>
<svg viewBox="0 0 ${FRAME.width} ${FRAME.height}" role="img" aria-label="${title}">
${grid(axes, unit)}
${lines.toReversed().map((line) => drawLine(line, axes))}
<line class="cursor" y1="${FRAME.top}" y2="${FRAME.bottom}"/>
</svg>
<ul class="legend">${named.map((line) => legendEntry(line, unit))}${remark(lines.length - named.length)}</ul>
</figure>`;
}

/** Of many curves, those that end highest have colours. */
function coloured(curves: readonly Curve[]): Line[] {
  const byEnd = curves.toSorted((a, b) => b.points.at(-1)![1] - a.points.at(-1)![1]);
  const chosen = curves.filter((curve) => byEnd.indexOf(curve) < COLOURS);
  return curves.map((curve) => ({
    curve,
    buckets: thin(curve.points),
    colour: chosen.includes(curve) ? `c${chosen.indexOf(curve)}` : "other",
  }));
}

function axesOf(lines: readonly Line[]): Axes {
  const buckets = lines.flatMap((line) => line.buckets);
  const levels = lines.flatMap(({ curve }) => curve.level?.value ?? []);
  const low = Math.min(...buckets.map((bucket) => bucket.low), ...levels);
  const high = Math.max(...buckets.map((bucket) => bucket.high), ...levels);
  // An axis from 0 lets heights be compared; where it would take half of the picture or more, changes matter more.
  const ticks = ticksAround(low > 0 && low < high / 2 ? 0 : low, high);
  const steps = buckets.map(({ step }) => step);
  const [first, last] = [Math.min(...steps), Math.max(...steps)];
  return {
    x: scaleLinear(first, last, FRAME.left, FRAME.right),
    y: scaleLinear(ticks[0]!, ticks.at(-1)!, FRAME.bottom, FRAME.top),
    steps: wholeTicksWithin(first, last),
    ticks,
  };
}

const grid = ({ x, y, steps, ticks }: Axes, unit: Unit): Html =>
  html`${ticks.map(
    (
      tick,
    ) => html`<line class="grid" x1="${FRAME.left}" x2="${FRAME.right}" y1="${y(tick)}" y2="${y(tick)}"/>
<text class="tick" x="${FRAME.left - 7}" y="${y(tick) + 4}">${formatTick(tick, unit)}</text>`,
  )}${steps.map((step) => html`<text class="step" x="${x(step)}" y="${FRAME.height - 8}">${formatCount(step)}</text>`)}`;

function drawLine({ curve, buckets, colour }: Line, { x, y }: Axes): Html {
  const through = (ends: readonly Bucket[], value: "low" | "mean" | "high"): string =>
    ends.map((bucket) => `${x(bucket.step)},${y(bucket[value])}`).join(" ");
  const range = `${through(buckets, "high")} ${through(buckets.toReversed(), "low")}`;
  const scattered = buckets.some(({ low, high }) => low < high);
  const dots = buckets.length <= MAX_DOTS ? buckets : [];
  return html`<g class="${colour}">${scattered ? html`<polygon points="${range}"/>` : undefined}
${curve.level && drawLevel(y(curve.level.value))}
<polyline points="${through(buckets, "mean")}"/>
${dots.map(({ step, mean }) => html`<circle cx="${x(step)}" cy="${y(mean)}" r="2.5"/>`)}</g>`;
}

const drawLevel = (y: number): Html =>
  html`<line class="level" x1="${FRAME.left}" x2="${FRAME.right}" y1="${y}" y2="${y}"/>`;

const legendEntry = ({ curve, colour }: Line, unit: Unit): Html =>
  html`<li class="${colour}"><i></i>${curve.name} <b>${formatNumber(curve.points.at(-1)![1], unit)}</b>${
    curve.level &&
    html` <small>${curve.level.name} ${formatNumber(curve.level.value, unit)}, dashed</small>`
  }</li>`;

const remark = (others: number): Html =>
  html`${others > 0 ? html`<li class="other"><i></i>${others} more</li>` : undefined}<li class="at"></li>`;

/** x, step and formatted value of each point that is drawn. */
const pointsUnderPointer = (
  { buckets }: Line,
  { x }: Axes,
  unit: Unit,
): [number, string, string][] =>
  buckets.map(({ step, mean }) => [x(step), formatCount(step), formatNumber(mean, unit)]);
