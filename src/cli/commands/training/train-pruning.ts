/** `reatt train pruning`: trains the layer that chooses the tokens of a pruned index. */

import {
  PRUNING_TRAINING_OPTIONS,
  type PruningTrainingResult,
  trainPruning,
} from "../../../training/pruning/train-pruning.ts";
import { defineCommand } from "../../line/command.ts";
import { JSON_LINES } from "../../shared/file-options.ts";
import { printRun, showEvents } from "./training-events.ts";

export const trainPruningCommand = defineCommand({
  options: { ...PRUNING_TRAINING_OPTIONS, json: JSON_LINES },
  example: "reatt train pruning --corpus corpus.jsonl --data train.jsonl --out runs/pruning",
  library: { trainPruning },
  run: ({ json, ...options }, signal, _, { trainPruning }) =>
    printRun(trainPruning({ ...options, signal }), json, showEvents, summaryOf),
});

const summaryOf = ({
  folder,
  questions,
  passages,
  tokens,
  matched,
}: PruningTrainingResult): string =>
  `Trained on ${questions} questions about ${passages} passages, which match ` +
  `${(100 * matched).toFixed(0)} % of ${tokens} tokens: ${folder}`;
