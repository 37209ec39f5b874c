/**
 * Writes `report.html`: the course and the results of a training run. One file that needs no
 * network. The run rewrites it as it goes on.
 */

import { replaceFile } from "../../io/replace-file.ts";
import type { ExampleCounts } from "../examples/training-data.ts";
import type { Term } from "../objectives/objective.ts";
import { chartsOf } from "./charts.ts";
import { evaluationsOf, evaluationTable, outcome } from "./evaluations.ts";
import { examplesSection } from "./examples.ts";
import { figure } from "./figure.ts";
import { type Baseline, formatCount, type Html, html, raw } from "./format.ts";
import type { MetricsRecord } from "./metrics-log.ts";
import { CHART_SCRIPT, type PagePlotter, readUPlot, STYLE } from "./page.ts";
import { type ReportSample, sampleCards } from "./samples.ts";

export type { Baseline } from "./format.ts";
export { outcomeOf, type ReportSample, type SampleReply } from "./samples.ts";

/** The questions that chose the kept model. */
export interface Selection {
  /** Number of questions. */
  readonly questions: number;
  /** What they are, in the plural. */
  readonly what: string;
  /** Which model is kept, as the rest of a sentence. */
  readonly rule: string;
}

export interface ReportData {
  /** What kind of run it is. */
  readonly title: string;
  /** What the run brought, in a line. */
  readonly verdict?: string | undefined;
  /** What else changed with the weights, in sentences. Default: nothing. */
  readonly notes?: readonly string[] | undefined;
  /** Default: the last model is kept. */
  readonly selection?: Selection | undefined;
  /** The progress of the run, in a sentence. */
  readonly status: string;
  /** Model, data, seed, machine, times and the options of the run, in the order to show them. */
  readonly options: Readonly<Record<string, string | number | boolean>>;
  /**
   * The log of the run. See charts.ts for the metrics that have a chart. Records with `exactMatch`,
   * `f1` or `recall@k` are evaluations.
   */
  readonly records: readonly MetricsRecord[];
  /** The terms of the loss, by the names that records have for them. Default: none. */
  readonly terms?: ReadonlyMap<string, Term> | undefined;
  /** The measures of BM25 on the same questions. */
  readonly baseline?: Baseline | undefined;
  /** The examples, their relevant passages, and what was left out. */
  readonly examples?: ExampleCounts | undefined;
  /** The step of the kept model, if it is not the last one. */
  readonly keptStep?: number | undefined;
  readonly samples: readonly ReportSample[];
}

/**
 * Replaces the report atomically. @throws {InputError} if it cannot be written; the old report then
 * stays.
 */
export async function writeReport(file: string, report: ReportData): Promise<void> {
  const { markup } = page(report, await readUPlot());
  await replaceFile(file, (handle) => handle.writeFile(markup));
}

/** The browser enforces that the page fetches nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

function page(report: ReportData, plotter: PagePlotter): Html {
  const {
    title,
    verdict,
    notes = [],
    status,
    selection,
    options,
    records,
    baseline,
    keptStep,
  } = report;
  const { terms, examples, samples } = report;
  const evaluations = evaluationsOf(records);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${title}</title>
<style>${raw(plotter.style)}${raw(STYLE)}</style>
</head>
<body><main>
<h1>${title}</h1>
${verdict && html`<p class="verdict">${verdict}</p>`}
${notes.map((note) => html`<p>${sentence(note)}</p>`)}
<p>${status}${selection && ` ${keptText(selection, keptStep)}`}</p>
${outcome(evaluations, keptStep, baseline)}
<h2>The run</h2>
<dl class="card">${Object.entries(options).map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${String(value)}</dd></div>`,
  )}</dl>
<h2>Curves</h2>
<p class="quiet">By training step. A pale band is the range of the steps that a point averages. Drag to zoom in, double-click to zoom out.</p>
<noscript><p>The curves need JavaScript.</p></noscript>
<div class="charts">${chartsOf(records, { baseline, terms, questions: selection?.what }).map(figure)}</div>
${section(`Evaluations on ${selection ? `${selection.questions} ${selection.what}` : "dev questions"}`, evaluations, (all) => html`<div class="card scroll">${evaluationTable(all, keptStep, baseline)}</div>`)}
${examples && examplesSection(examples)}
${section("Sample questions", samples, sampleCards)}
</main>
<script>${raw(plotter.script)}</script>
<script>${raw(CHART_SCRIPT)}</script>
</body>
</html>
`;
}

const keptText = ({ questions, what, rule }: Selection, step: number | undefined): string =>
  step === undefined ? "" : `The ${modelText(step)} is kept: ${rule}, on ${questions} ${what}.`;

const modelText = (step: number): string =>
  step === 0 ? "given model" : `model of step ${formatCount(step)}`;

const sentence = (note: string): string => `${note.charAt(0).toUpperCase()}${note.slice(1)}.`;

const section = <T>(
  title: string,
  items: readonly T[],
  body: (items: readonly T[]) => Html,
): Html | undefined => (items.length === 0 ? undefined : html`<h2>${title}</h2>\n${body(items)}`);
