/** `reatt adapt`: adapts a model to another corpus, with or without labels. */

import type { HybridWeights } from "../../../model/config.ts";
import { type AdaptationResult, adapt } from "../../../training/adapt.ts";
import { INDEX_PASSAGE_TOKENS } from "../../../training/adaptation/pace.ts";
import type { AdaptationPlan } from "../../../training/adaptation/plan.ts";
import { ADAPT_OPTIONS } from "../../../training/options/adapt-options.ts";
import { outcomeOf, type ReportSample, type SampleReply } from "../../../training/report/report.ts";
import { defineFileCommand } from "../../line/command.ts";
import { describeCut } from "../../output/build-progress.ts";
import { duration } from "../../output/progress.ts";
import { JSON_LINES } from "../../shared/file-options.ts";
import {
  indexLines,
  printRun,
  showEventsUntil,
  stoppedLine,
  writtenLines,
} from "./training-events.ts";

export const adaptCommand = defineFileCommand({
  options: { ...ADAPT_OPTIONS, json: JSON_LINES },
  example: "reatt adapt --corpus docs --out adapted --dry-run",
  library: { adapt },
  run: ({ json, ...options }, signal, _, { adapt }) =>
    printRun(
      withCutTokens(adapt({ ...options, signal })),
      json,
      showEventsUntil(signal),
      (result) => summaryOf(result, options.corpus),
    ),
});

/** Says how much of long passages was cut, before the result. */
async function* withCutTokens<Event>(
  run: AsyncGenerator<Event, AdaptationResult>,
): AsyncGenerator<Event, AdaptationResult> {
  const result = yield* run;
  process.stderr.write(describeCut(result.cut, INDEX_PASSAGE_TOKENS));
  return result;
}

function summaryOf(
  { plan, training, index, verdict, seconds }: AdaptationResult,
  corpus: string | undefined,
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
    ...(seconds === undefined
      ? []
      : [`Took ${duration(seconds)}, planned ${duration(plannedSeconds(plan))}`]),
    ...writtenLines(training),
    ...(finished ? [] : [stoppedLine(training, `reatt adapt --out ${folder} --resume`)]),
    ...(verdict ? [`Verdict: ${verdict}`] : []),
  ].join("\n");
}

/** The whole time, which the run fills. */
const plannedSeconds = ({ minutes, seconds }: AdaptationPlan): number =>
  minutes === undefined ? seconds : 60 * minutes;

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
