/** `reatt train phrases`: trains phrase queries for an index. */

import { PHRASE_TRAINING_OPTIONS, trainPhrases } from "../../../training/phrases/train-phrases.ts";
import { defineCommand } from "../../line/command.ts";
import { JSON_LINES } from "../../shared/file-options.ts";
import { printEvents, showEvents } from "./training-events.ts";

export const trainPhrasesCommand = defineCommand({
  options: { ...PHRASE_TRAINING_OPTIONS, json: JSON_LINES },
  example: "reatt train phrases --index index --data train.jsonl --out runs/phrases",
  async run({ json, ...options }, signal) {
    const events = trainPhrases({ ...options, signal });
    const result = await (json ? printEvents(events) : showEvents(events));
    const { folder, questions, examples } = result;
    const summary = json
      ? JSON.stringify({ type: "result", ...result })
      : `Trained on ${questions} questions, ${examples} with their passage: ${folder}`;
    process.stdout.write(`${summary}\n`);
  },
});
