/** `reatt train`: trains a model on questions and answers. */

import { TRAIN_OPTIONS } from "../../../training/options/train-options.ts";
import { train } from "../../../training/train.ts";
import { defineFileCommand } from "../../line/command.ts";
import { JSON_LINES } from "../../shared/file-options.ts";
import { runSummary } from "./run-summary.ts";
import { printRun, showEventsUntil } from "./training-events.ts";

export const trainCommand = defineFileCommand({
  options: { ...TRAIN_OPTIONS, json: JSON_LINES },
  example:
    "reatt train --model t5-v1_1-base --corpus corpus.jsonl --data train.jsonl --out runs/first",
  library: { train },
  run: ({ json, ...options }, signal, _, { train }) =>
    printRun(train({ ...options, signal }), json, showEventsUntil(signal), (result) => {
      const { plan, verdict, seconds, ...training } = result;
      const made = options.dryRun ? { plan } : { plan, training, verdict, seconds };
      return runSummary(made, { command: "train", corpus: options.corpus });
    }),
});
