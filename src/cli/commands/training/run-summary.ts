/** What the command line says at the end of a run, of `train` and of `adapt`. */

import { formatBytes } from "../../../io/format-bytes.ts";
import type { HybridWeights } from "../../../model/config.ts";
import type { TrainingPlan } from "../../../training/plan/plan.ts";
import { outcomeOf, type ReportSample, type SampleReply } from "../../../training/report/report.ts";
import type { TrainingResult } from "../../../training/run/events.ts";
import { duration } from "../../output/progress.ts";

/** What a run made, as `adapt` returns it. */
interface RunResult {
  readonly plan: TrainingPlan;
  /** Undefined after a dry run. */
  readonly training?: TrainingResult | undefined;
  readonly index?: string | undefined;
  readonly verdict?: string | undefined;
  readonly seconds?: number | undefined;
}

/** @param corpus as it was given, for the command that indexes it */
export function runSummary(
  { plan, training, index, verdict, seconds }: RunResult,
  { command, corpus }: { readonly command: string; readonly corpus: string | undefined },
): string {
  if (!training) return plan.samples.join("\n\n");
  const { folder, report, step, finished, failure, outcome, samples } = training;
  const reason = failure ? `: ${failure}; kept the model of step ${outcome?.step ?? 0}` : "";
  return [
    ...(finished ? sampleLines(samples) : []),
    `${finished && !failure ? "Finished" : "Stopped"} after step ${step}${reason}: ${folder}`,
    `Report: ${report}`,
    ...(index ? [`Index: ${index}`] : indexLines(training, corpus)),
    ...(finished && outcome && outcome.step > 0 ? [hybridLine(outcome.hybrid.weights)] : []),
    ...(seconds === undefined ? [] : [tookLine(seconds, plan)]),
    ...writtenLines(training),
    ...(finished ? [] : [stoppedLine(training, `reatt ${command} --out ${folder} --resume`)]),
    ...(verdict ? [`Verdict: ${verdict}`] : []),
  ].join("\n");
}

/** The last line of a run that was stopped: what its folder has, and how to go on. */
export function stoppedLine(
  { folder, saved, checkpointBytes }: TrainingResult,
  command: string,
): string {
  const model = saved === 0 ? "the given model" : `the model of step ${saved}, the best so far`;
  const has = saved === undefined ? "no model yet" : `${model}, which can be used`;
  const kept =
    checkpointBytes === undefined
      ? ""
      : `; ${folder}.run/checkpoint keeps ${formatBytes(checkpointBytes)} to go on`;
  return `${folder} has ${has}${kept}. To continue: ${command}`;
}

/** What a run took, and the plan: with a time limit the whole time, which the run fills. */
const tookLine = (took: number, { minutes, seconds }: TrainingPlan): string =>
  `Took ${duration(took)}, planned ${duration(minutes === undefined ? seconds : 60 * minutes)}`;

/** The size of the model, and what else changed with its weights. */
export const writtenLines = ({ written }: TrainingResult): string[] =>
  written
    ? [
        `Size: ${formatBytes(written.bytes)}` +
          (written.bytesBefore > 0 ? `, the given model ${formatBytes(written.bytesBefore)}` : ""),
        ...written.notes.map((note) => `Note: ${note}`),
      ]
    : [];

/** How to make an index that fits the model, if those of the given one do not. */
export const indexLines = ({ written, folder }: TrainingResult, corpus = "FILE"): string[] =>
  written && !written.keepsIndexes
    ? [
        "Index: those of the given model do not fit this one; to make one: " +
          `reatt index --model ${folder} --corpus ${corpus} --out DIR`,
      ]
    : [];

const hybridLine = ({ lambda }: HybridWeights): string =>
  `Hybrid search: lambda ${lambda}; reatt answer and reatt retrieve rank so`;

/** Questions shown on the command line. The report has more. */
const SHOWN_SAMPLES = 3;
const SHOWN_CHARACTERS = 100;

/** Questions whose outcome training changed come first. */
function sampleLines(samples: readonly ReportSample[]): string[] {
  const changed = (sample: ReportSample): number =>
    Number(/^(?:Learned|Lost)$/.test(outcomeOf(sample)));
  const shown = samples
    .filter(({ before, after }) => before && after)
    .toSorted((a, b) => changed(b) - changed(a))
    .slice(0, SHOWN_SAMPLES);
  return shown.flatMap((sample) => [
    short(sample.question),
    replyLine("before", sample.before!),
    replyLine("after ", sample.after!),
    "",
  ]);
}

const replyLine = (when: string, { answer, passages: [first] }: SampleReply): string =>
  `  ${when}  ${answer || "no answer"}  from  ${first ? short(`${first.title}: ${first.text}`) : "nothing"}`;

const short = (text: string): string => {
  const line = text.replace(/\s+/gu, " ").trim();
  return line.length <= SHOWN_CHARACTERS ? line : `${line.slice(0, SHOWN_CHARACTERS)}…`;
};
