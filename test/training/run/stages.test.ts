/** What the steps of each iteration are computed of. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";
import type { TextExamples } from "../../../src/training/examples/step.ts";
import { withDefaults } from "../../../src/training/options/train-options.ts";
import { resolveRun } from "../../../src/training/run/run.ts";
import { iterationStage } from "../../../src/training/run/stages.ts";
import { writeAdaptationFiles } from "../../support/adaptation.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { TOKENIZER, temporaryFolder } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const { corpus, data } = writeAdaptationFiles(folder.path);
const tokenizer = await loadTokenizer(TOKENIZER);
const run = resolveRun(
  withDefaults({
    ...{ model: "unused", corpus, data, out: "unused", questions: 5, candidatesPerQuestion: 4 },
    ...{ iterations: 2, steps: 3, qaSteps: 2 },
  }),
  { config: tinyConfig(), hasWeights: false, namesHead: false },
  { size: 12 },
);

test("the first steps are not taught to retrieve", () => {
  const source: TextExamples = {
    size: 5,
    example: (index) => ({
      ...{ question: `number ${index}`, answer: "yes" },
      ...{ passages: [], relevant: [], answers: [] },
    }),
  };
  const [first, second] = [0, 1].map((iteration) =>
    iterationStage(run, iteration, () => source, tokenizer),
  );
  assert.equal([first!.first, first!.steps, second!.first], [0, 3, 3]);
  assert.equal(
    [0, 1, 2].map((step) => first!.objectives(step).length),
    [1, 1, 3],
  );
  assert.is(second!.objectives(0).length, 3);
  const asked = (step: number): string[] =>
    first!.examples(step).map(({ question }) => tokenizer.decode(question));
  assert.equal(
    asked(0).sort(),
    ["0", "1", "2", "3", "4"].map((number) => `question: number ${number}`),
  );
});

test.run();
