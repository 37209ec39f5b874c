/** `report.html`: how a run went, for a person. One file that needs no network, and is rewritten while the run goes on. */

import { replaceFile } from "../../io/replace-file.ts";
import { chartsOf } from "./charts.ts";
import { evaluationsOf, evaluationTable, outcome } from "./evaluations.ts";
import { type Html, html, raw } from "./html.ts";
import type { Baseline } from "./measures.ts";
import type { MetricsRecord } from "./metrics-log.ts";
import { plot } from "./plot.ts";
import { type Sample, sampleCards } from "./samples.ts";
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";

export type { Baseline } from "./measures.ts";
export type { Sample, SampleReply } from "./samples.ts";

export interface ReportData {
  readonly title: string;
  /** How far the run is, in a sentence. */
  readonly status: string;
  /** Model, data, seed, machine, times, and the options that the run was given; shown in this order. */
  readonly options: Readonly<Record<string, string | number | boolean>>;
  /**
   * The log of the run. Drawn are `nll`, `pointer`, `kl`, `ownKl`, `loss`, `ownProbability`, `scale` (exp(s)), `headWeights` (shares),
   * `gradientNorm`, `learningRate`, `questionsPerSecond`; records with `exactMatch`, `f1` or `recall@k` are evaluations.
   */
  readonly records: readonly MetricsRecord[];
  /** Measures of BM25 on the same questions. */
  readonly baseline?: Baseline | undefined;
  /** The step after which the best checkpoint was written, and where it lies. */
  readonly best?: { readonly step: number; readonly path: string } | undefined;
  readonly samples: readonly Sample[];
  /** What the reader should not miss. */
  readonly notes: readonly string[];
}

/** Writes the report in one step. @throws {InputError} where the disk refuses; the old report is then still there. */
export async function writeReport(file: string, report: ReportData): Promise<void> {
  await replaceFile(file, (handle) => handle.writeFile(page(report).markup));
}

/** The policy has the browser itself see to it that nothing is fetched. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

function page({
  title,
  status,
  options,
  records,
  baseline,
  best,
  samples,
  notes,
}: ReportData): Html {
  const evaluations = evaluationsOf(records);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${title}</title>
<style>${raw(STYLE)}</style>
</head>
<body><main>
<h1>${title}</h1>
<p>${status}</p>
${outcome(evaluations, best?.step, baseline)}
${best && html`<p>Best checkpoint: <code>${best.path}</code></p>`}
${notes.map((note) => html`<p class="card notes">${note}</p>`)}
<h2>The run</h2>
<dl class="card">${Object.entries(options).map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${String(value)}</dd></div>`,
  )}</dl>
<h2>Curves</h2>
<p class="quiet">By training step. A pale band is the range of the steps that one point stands for.</p>
<div class="charts">${chartsOf(records, baseline).map(plot)}</div>
${section("Evaluations on dev", evaluations, (all) => html`<div class="card scroll">${evaluationTable(all, best?.step, baseline)}</div>`)}
${section("Sample questions", samples, sampleCards)}
</main>
<script>${raw(SCRIPT)}</script>
</body>
</html>
`;
}

const section = <T>(
  title: string,
  items: readonly T[],
  body: (items: readonly T[]) => Html,
): Html | undefined => (items.length === 0 ? undefined : html`<h2>${title}</h2>\n${body(items)}`);
