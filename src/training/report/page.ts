/** What a report's page needs beside its content: style sheet, script, and uPlot. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Light and dark. Colours: Okabe and Ito 2008, distinguishable for colour-blind readers. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #f6f7f8; --card: #fff; --ink: #1c2024; --quiet: #606a73; --line: #dfe3e6; --mark: #fff0b3;
  --right: #00704f; --wrong: #b3400b;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #aa4e86; --c4: #8f7400; --other: #b4bbc1;
}
@media (prefers-color-scheme: dark) { :root {
  --page: #14171a; --card: #1c2024; --ink: #e6e9eb; --quiet: #9aa4ad; --line: #31373d; --mark: #5a4a00;
  --right: #4cc79f; --wrong: #ff8f5a;
  --c0: #56b4e9; --c1: #ff8f3f; --c2: #2fc79a; --c3: #e08fc0; --c4: #e0c030; --other: #4d555c;
} }
* { box-sizing: border-box; margin: 0; }
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; padding: 32px 20px; }
main { max-width: 1120px; margin: auto; }
h1 { font-size: 25px; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 36px 0 10px; }
h3 { font-size: 15px; }
.verdict { font-size: 17px; font-weight: 600; margin: 6px 0; overflow-wrap: anywhere; }
.quiet, small { color: var(--quiet); }
ul, ol { list-style: none; padding: 0; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
figure, article, .tiles li, .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 18px 0 12px; }
.tiles li { flex: 1 1 130px; line-height: 1.35; }
.tiles span { color: var(--quiet); }
.tiles b { display: block; font-size: 25px; font-weight: 600; font-variant-numeric: tabular-nums; }
dl { columns: 2 360px; column-gap: 32px; }
dl div { break-inside: avoid; display: flex; gap: 12px; justify-content: space-between; border-bottom: 1px solid var(--line); padding: 2px 0; }
dt { color: var(--quiet); white-space: nowrap; }
dd { text-align: right; overflow-wrap: anywhere; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); gap: 14px; margin-top: 10px; }
figure { display: flex; flex-direction: column; min-width: 0; }
figcaption { flex: 1; }
figcaption p, .legend { font-size: 13px; color: var(--quiet); }
.plot { height: 220px; margin: 8px 0 4px; overflow: hidden; }
.c0 { --colour: var(--c0); } .c1 { --colour: var(--c1); } .c2 { --colour: var(--c2); }
.c3 { --colour: var(--c3); } .c4 { --colour: var(--c4); } .other { --colour: var(--other); }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; }
.legend i { display: inline-block; width: 14px; height: 3px; margin-right: 6px; vertical-align: middle; background: var(--colour); }
.legend b { color: var(--ink); font-variant-numeric: tabular-nums; }
.legend .at { margin-left: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 10px; text-align: right; white-space: nowrap; }
.text { text-align: left; white-space: normal; min-width: 220px; }
th { font-weight: normal; color: var(--quiet); }
thead th, tr + tr > * { border-bottom: 1px solid var(--line); }
article { margin-bottom: 12px; overflow-wrap: anywhere; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 360px), 1fr)); gap: 8px 28px; margin-top: 8px; }
.sides ol { font-size: 13px; padding-left: 20px; list-style: decimal; }
.sides li { margin-top: 6px; overflow-wrap: anywhere; }
.title { font-weight: 600; }
.right { color: var(--right); } .wrong { color: var(--wrong); }
mark { background: var(--mark); color: inherit; border-radius: 2px; }
summary { cursor: pointer; font-size: 13px; color: var(--quiet); margin-top: 6px; }
@media (max-width: 480px) {
  body { padding: 20px 12px; }
  h1 { font-size: 20px; }
  figure, article, .tiles li, .card { padding: 10px 12px; }
  .tiles { gap: 8px; }
  .tiles b { font-size: 20px; }
  th, td { padding: 4px 6px; }
}
@media print { body { padding: 0; } figure, article { break-inside: avoid; } }
`;

/**
 * Draws each figure with uPlot (https://github.com/leeoniya/uPlot), and shows the values at the
 * pointer in the figure's legend. It is plain JavaScript in a string, since the page must not
 * depend on how this project is compiled. All data come from `data-chart` attributes (see
 * figure.ts), so no text of a run is part of a script.
 */
export const CHART_SCRIPT = `
const HEIGHT = 220;
const WHOLE_INCREMENTS = Array.from({ length: 8 }, (_, i) => [1, 2, 5].map((x) => x * 10 ** i)).flat();
const colour = (name) => () => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const faded = (name) => () => colour(name)() + "33";

function tick(value, unit) {
  if (unit === "share") return Number((100 * value).toPrecision(12)) + " %";
  const rounded = Number(value.toPrecision(12));
  const size = Math.abs(rounded);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return rounded.toExponential().replace("+", "");
  return rounded.toLocaleString("en-US", { maximumFractionDigits: 12 });
}

/**
 * uPlot's series, bands and data: for each curve its mean, the ends of its range, and its level.
 */
function linesOf({ steps, curves }) {
  const lines = { series: [{}], bands: [], data: [steps] };
  const add = (data, series) => lines.series.push({ spanGaps: true, ...series }) && lines.data.push(data);
  for (const { colour: name, mean, low, high, level } of curves.toReversed()) {
    lines.bands.push({ series: [lines.data.length, lines.data.length + 1], fill: faded(name) });
    add(high, { points: { show: false } });
    add(low, { points: { show: false } });
    add(mean, { stroke: colour(name), width: 1.8, points: { fill: colour(name), size: 5 } });
    if (level !== undefined)
      add(steps.map(() => level), { stroke: colour(name), dash: [5, 4], points: { show: false } });
  }
  return lines;
}

/**
 * An axis from 0 makes heights comparable, unless it would leave half of the chart or more empty.
 */
const valueRange = (_, low, high) => uPlot.rangeNum(low > 0 && low < high / 2 ? 0 : low, high, 0.05, true);

/**
 * Shows the values at a position of the data, or at the nearest position where the curve has a
 * value.
 */
function legendOf(figure, { steps, curves }) {
  const values = [...figure.querySelectorAll(".legend b")];
  const at = figure.querySelector(".at");
  const last = values.map((value) => value.textContent);
  const named = curves.filter(({ texts }) => texts);
  const nearest = (texts, index) =>
    texts.reduce((best, text, i) =>
      text !== null && (best < 0 || Math.abs(i - index) < Math.abs(best - index)) ? i : best, -1);
  return (index) => {
    const inside = index !== null && index !== undefined;
    at.textContent = inside ? "step " + steps[index].toLocaleString("en-US") : "";
    values.forEach((value, i) => {
      const { texts } = named[i];
      value.textContent = inside ? texts[nearest(texts, index)] : last[i];
    });
  };
}

function draw(figure) {
  const chart = JSON.parse(figure.dataset.chart);
  const place = figure.querySelector(".plot");
  const { series, bands, data } = linesOf(chart);
  const showAt = legendOf(figure, chart);
  const axis = { stroke: colour("quiet"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
  const plot = new uPlot({
    width: place.clientWidth,
    height: HEIGHT,
    series,
    bands,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false } },
    scales: { x: { time: false }, y: { range: valueRange } },
    axes: [
      { ...axis, size: 30, incrs: WHOLE_INCREMENTS, values: (_, ticks) => ticks.map((step) => tick(step, "number")) },
      { ...axis, size: 62, values: (_, ticks) => ticks.map((value) => tick(value, chart.unit)) },
    ],
    hooks: { setCursor: [({ cursor }) => showAt(cursor.idx)] },
  }, data, place);
  new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
  return plot;
}

const plots = [...document.querySelectorAll("figure[data-chart]")].map(draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const plot of plots) plot.redraw();
});
`;

export interface PagePlotter {
  /** Defines the global variable `uPlot`. Begins with the licence. */
  readonly script: string;
  readonly style: string;
}

/** Reads the installed package. */
export async function readUPlot(): Promise<PagePlotter> {
  const folder = dirname(createRequire(import.meta.url).resolve("uplot/package.json"));
  const read = (...path: string[]): Promise<string> => readFile(join(folder, ...path), "utf8");
  const [script, style, licence] = await Promise.all([
    read("dist", "uPlot.iife.min.js"),
    read("dist", "uPlot.min.css"),
    read("LICENSE"),
  ]);
  return { script: `/*\n${licence}*/\n${script}`, style };
}
