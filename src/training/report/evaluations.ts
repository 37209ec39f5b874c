/** The evaluations of a run: a summary and a table. */

import type { Measures } from "../../evaluation/measures.ts";
import {
  type Baseline,
  formatCount,
  formatNumber,
  type Html,
  html,
  measureLabel,
  withoutHybrid,
} from "./format.ts";
import type { MetricsRecord } from "./metrics-log.ts";

export interface ReportedEvaluation {
  readonly step: number;
  readonly measures: Measures;
}

const isMeasure = (name: string): boolean =>
  name === "exactMatch" || name === "f1" || /^(hybrid\/)?(recall@\d+|mrr)$|^measure\//.test(name);

/** The evaluations among the records of a log. */
export const evaluationsOf = (records: readonly MetricsRecord[]): ReportedEvaluation[] =>
  records.flatMap(({ step, ...metrics }) => {
    const measures = Object.entries(metrics).filter(
      (entry): entry is [string, number] => isMeasure(entry[0]) && typeof entry[1] === "number",
    );
    return measures.length > 0 ? [{ step, measures: Object.fromEntries(measures) }] : [];
  });

/** One tile a measure: before training, and for the kept model or else the last evaluation. */
export function outcome(
  evaluations: readonly ReportedEvaluation[],
  bestStep?: number,
  baseline?: Baseline,
): Html {
  const first = evaluations[0];
  const best = evaluations.find(({ step }) => step === bestStep) ?? evaluations.at(-1);
  if (!first || !best) return html`<p class="quiet">Not yet evaluated.</p>`;
  const tiles = Object.entries(best.measures).map(
    ([name, value]) => html`<li><span>${measureLabel(name)}</span>
<b>${formatNumber(value, "share")}</b>
<small>${best === first ? "before training" : change(first.measures[name], value)}${versus(name, baseline)}</small></li>`,
  );
  return html`<ul class="tiles">${tiles}</ul>`;
}

function change(before: number | undefined, after: number): string {
  if (before === undefined) return "not measured before";
  const points = 100 * (after - before);
  return `${formatNumber(before, "share")} before, ${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(1)}`;
}

const versus = (name: string, baseline?: Baseline): Html | undefined => {
  const value = baseline?.measures[withoutHybrid(name)];
  return value === undefined
    ? undefined
    : html`<br>${baseline!.name} ${formatNumber(value, "share")}`;
};

/**
 * A table with a row for the baseline and a row for each evaluation. The best value of each column
 * is bold.
 */
export function evaluationTable(
  evaluations: readonly ReportedEvaluation[],
  bestStep?: number,
  baseline?: Baseline,
): Html {
  const names = [...new Set(evaluations.flatMap(({ measures }) => Object.keys(measures)))];
  const highest = new Map(
    names.map((name) => [name, Math.max(...evaluations.map((e) => e.measures[name] ?? 0))]),
  );
  const cells = (measures: Measures, emphasise: boolean): Html[] =>
    names.map((name) => {
      const value = measures[name];
      if (value === undefined) return html`<td>–</td>`;
      const shown = formatNumber(value, "share");
      return emphasise && value === highest.get(name)
        ? html`<td><b>${shown}</b></td>`
        : html`<td>${shown}</td>`;
    });
  return html`<table><thead><tr><th>step</th>${names.map((name) => html`<th>${measureLabel(name)}</th>`)}</tr></thead><tbody>
${baseline && html`<tr class="quiet"><th>${baseline.name}</th>${cells(baseline.measures, false)}</tr>`}
${evaluations.map(
  ({ step, measures }) =>
    html`<tr><th>${formatCount(step)}${step === bestStep ? " (kept)" : ""}</th>${cells(measures, true)}</tr>`,
)}</tbody></table>`;
}
