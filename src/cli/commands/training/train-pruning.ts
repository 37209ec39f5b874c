/** `reatt train pruning`: trains the layer that chooses the tokens of a pruned index. */

import { PRUNING_TRAINING_OPTIONS, trainPruning } from "../../../training/pruning/train-pruning.ts";
import { defineCommand } from "../../line/command.ts";
import { JSON_LINES } from "../../shared/file-options.ts";
import { printEvents, showEvents } from "./training-events.ts";

export const trainPruningCommand = defineCommand({
  options: { ...PRUNING_TRAINING_OPTIONS, json: JSON_LINES },
  example: "reatt train pruning --corpus corpus.jsonl --data train.jsonl --out runs/pruning",
  async run({ json, ...options }, signal) {
    const events = trainPruning({ ...options, signal });
    const result = await (json ? printEvents(events) : showEvents(events));
    const { folder, questions, passages, tokens, matched } = result;
    const summary = json
      ? JSON.stringify({ type: "result", ...result })
      : `Trained on ${questions} questions about ${passages} passages, which match ` +
        `${(100 * matched).toFixed(0)} % of ${tokens} tokens: ${folder}`;
    process.stdout.write(`${summary}\n`);
  },
});
