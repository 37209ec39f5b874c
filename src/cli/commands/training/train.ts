/** `reatt train`: trains a model on questions and answers. */

import { TRAIN_OPTIONS } from "../../../training/options/train-options.ts";
import { train } from "../../../training/train.ts";
import { verdictOf } from "../../../training/verdict/verdict.ts";
import { defineFileCommand } from "../../line/command.ts";
import { JSON_LINES } from "../../shared/file-options.ts";
import { printEvents, showEvents } from "./training-events.ts";

export const trainCommand = defineFileCommand({
  options: { ...TRAIN_OPTIONS, json: JSON_LINES },
  example:
    "reatt train --model t5-v1_1-base --corpus corpus.jsonl --data train.jsonl --out runs/first",
  async run({ json, ...options }, signal) {
    const events = train({ ...options, signal });
    const result = await (json ? printEvents(events) : showEvents(events));
    const { folder, report, step, finished, outcome } = result;
    const lines = [
      `${finished ? "Finished" : "Stopped"} after step ${step}: ${folder}`,
      `Report: ${report}`,
      ...(finished && outcome ? [`Verdict: ${verdictOf(result)}`] : []),
    ];
    const summary = json ? JSON.stringify({ type: "result", ...result }) : lines.join("\n");
    process.stdout.write(`${summary}\n`);
  },
});
