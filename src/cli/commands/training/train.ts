/** `reatt train`: trains a model on questions and answers. */

import { TRAIN_OPTIONS } from "../../../training/options/train-options.ts";
import type { TrainingResult } from "../../../training/run/events.ts";
import { train } from "../../../training/train.ts";
import { verdictOf } from "../../../training/verdict/verdict.ts";
import { defineFileCommand } from "../../line/command.ts";
import { JSON_LINES } from "../../shared/file-options.ts";
import {
  indexLines,
  printRun,
  showEventsUntil,
  stoppedLine,
  writtenLines,
} from "./training-events.ts";

export const trainCommand = defineFileCommand({
  options: { ...TRAIN_OPTIONS, json: JSON_LINES },
  example:
    "reatt train --model t5-v1_1-base --corpus corpus.jsonl --data train.jsonl --out runs/first",
  library: { train },
  run: ({ json, ...options }, signal, _, { train }) =>
    printRun(train({ ...options, signal }), json, showEventsUntil(signal), (result) =>
      summaryOf(result, options.corpus),
    ),
});

function summaryOf(result: TrainingResult, corpus: string | undefined): string {
  const { folder, report, step, finished, outcome } = result;
  return [
    `${finished ? "Finished" : "Stopped"} after step ${step}: ${folder}`,
    `Report: ${report}`,
    ...writtenLines(result),
    ...indexLines(result, corpus),
    ...(finished ? [] : [stoppedLine(result, `reatt train --out ${folder} --resume`)]),
    ...(finished && outcome ? [`Verdict: ${verdictOf(result)}`] : []),
  ].join("\n");
}
