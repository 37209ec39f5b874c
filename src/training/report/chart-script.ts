/**
 * The script of a report's page: draws each figure with uPlot, and shows the values at the pointer
 * in the figure's legend.
 *
 * It is plain JavaScript in a string, since the page must not depend on how this project is
 * compiled. All data come from `data-chart` attributes (see figure.ts), so no text of a run is part
 * of a script.
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
