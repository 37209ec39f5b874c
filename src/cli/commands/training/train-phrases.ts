/** `reatt train phrases`: trains phrase queries for an index. */

import {
  PHRASE_TRAINING_OPTIONS,
  type PhraseTrainingResult,
  trainPhrases,
} from "../../../training/phrases/train-phrases.ts";
import { defineCommand } from "../../line/command.ts";
import { JSON_LINES } from "../../shared/file-options.ts";
import { printRun, showEvents } from "./training-events.ts";

export const trainPhrasesCommand = defineCommand({
  options: { ...PHRASE_TRAINING_OPTIONS, json: JSON_LINES },
  example: "reatt train phrases --index index --data train.jsonl --out runs/phrases",
  library: { trainPhrases },
  run: ({ json, ...options }, signal, _, { trainPhrases }) =>
    printRun(trainPhrases({ ...options, signal }), json, showEvents, summaryOf),
});

const summaryOf = ({ folder, questions, examples }: PhraseTrainingResult): string =>
  `Trained on ${questions} questions, ${examples} with their passage: ${folder}`;
