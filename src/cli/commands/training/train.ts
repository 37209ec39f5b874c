/** `reatt train`: trains a model on questions and answers, at one learning rate or at several. */

import { SWEPT_OPTION, TRAIN_OPTIONS } from "../../../training/options/train-options.ts";
import { sweep } from "../../../training/sweep.ts";
import { type TrainResult, train } from "../../../training/train.ts";
import { defineFileCommand } from "../../line/command.ts";
import { JSON_LINES } from "../../shared/file-options.ts";
import { runSummary } from "./run-summary.ts";
import { sweepTable } from "./sweep-table.ts";
import { printRun, showEventsUntil } from "./training-events.ts";

export const trainCommand = defineFileCommand({
  options: { ...TRAIN_OPTIONS, ...SWEPT_OPTION, json: JSON_LINES },
  example:
    "reatt train --model t5-v1_1-base --corpus corpus.jsonl --data train.jsonl --out runs/first",
  library: { train, sweep },
  run({ json, learningRate, ...options }, signal, _, { train, sweep }) {
    const { corpus, dryRun } = options;
    const summaryOf = ({ plan, verdict, seconds, ...training }: TrainResult): string =>
      runSummary(dryRun ? { plan } : { plan, training, verdict, seconds }, {
        command: "train",
        corpus,
      });
    const show = showEventsUntil(signal);
    if (!Array.isArray(learningRate))
      return printRun(train({ ...options, learningRate, signal }), json, show, summaryOf);
    const run = sweep({ ...options, learningRate, signal });
    return printRun(run, json, show, (swept) =>
      dryRun ? summaryOf(swept.trials[0]!.result) : sweepTable(swept, corpus),
    );
  },
});
