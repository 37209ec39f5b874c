/** `reatt train phrases`: trains phrase queries for an index. */

import {
  PHRASE_TRAINING_OPTIONS,
  type PhraseTrainingEvent,
  type PhraseTrainingResult,
  trainPhrases,
} from "../../../training/phrases/train-phrases.ts";
import { defineCommand } from "../../line/command.ts";
import { type Progress, startProgress } from "../../output/progress.ts";
import { JSON_LINES } from "../../shared/file-options.ts";
import { printRun } from "./training-events.ts";

export const trainPhrasesCommand = defineCommand({
  options: { ...PHRASE_TRAINING_OPTIONS, json: JSON_LINES },
  example: "reatt train phrases --index index --data train.jsonl --out runs/phrases",
  library: { trainPhrases },
  run: ({ json, ...options }, signal, _, { trainPhrases }) =>
    printRun(trainPhrases({ ...options, signal }), json, showEvents, summaryOf),
});

const summaryOf = ({ folder, questions, examples }: PhraseTrainingResult): string =>
  `Trained on ${questions} questions, ${examples} with their passage: ${folder}`;

/** Shows a progress bar for each stage and one for all steps. */
async function showEvents<Result>(
  run: AsyncGenerator<PhraseTrainingEvent, Result>,
): Promise<Result> {
  let progress: Progress | undefined;
  let isStepping = false;
  const begin = (unit: string, total: number): void => {
    progress?.stop();
    progress = startProgress(unit, total);
  };
  try {
    for (;;) {
      const { done, value } = await run.next();
      if (done) return value;
      if (value.type === "stage") begin(value.name, value.total ?? 0);
      else if (value.type === "progress") progress?.update(value.done);
      else {
        if (!isStepping) begin("steps", value.steps);
        isStepping = true;
        progress!.update(value.step, noteOf(value));
      }
    }
  } finally {
    progress?.stop();
  }
}

function noteOf({ loss, found }: Extract<PhraseTrainingEvent, { type: "step" }>): string {
  const share = found === undefined ? "" : `, answer found ${(100 * found).toFixed(0)} %`;
  return `loss ${loss.toFixed(3)}${share}`;
}
