/** `reatt train negatives`: writes hard negatives of questions to a file. */

import {
  type MinedNegatives,
  mineNegatives,
  NEGATIVES_OPTIONS,
} from "../../../training/negatives/mine-negatives.ts";
import { defineCommand } from "../../line/command.ts";
import { JSON_LINES } from "../../shared/file-options.ts";
import { printRun, showEvents } from "./training-events.ts";

export const trainNegativesCommand = defineCommand({
  options: { ...NEGATIVES_OPTIONS, json: JSON_LINES },
  example: "reatt train negatives --corpus corpus.jsonl --data train.jsonl --out mined.jsonl",
  library: { mineNegatives },
  run: ({ json, ...options }, signal, _, { mineNegatives }) =>
    printRun(mineNegatives({ ...options, signal }), json, showEvents, summaryOf),
});

const summaryOf = ({
  file,
  questions,
  written,
  complete,
  negatives,
  withoutPositive,
  withoutNegative,
}: MinedNegatives): string =>
  `${negatives} negatives of ${written} questions, ${complete} of them with as many as asked: ${file}\n` +
  `Left out of ${questions}: ${withoutPositive} without a known relevant passage, ` +
  `${withoutNegative} with no other passage that far below it`;
