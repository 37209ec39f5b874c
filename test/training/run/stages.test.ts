/** What the steps of each stage are computed of. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { loadTokenizer } from "../../../src/text/tokenizer.ts";
import { openCorpus } from "../../../src/training/examples/corpus.ts";
import type { TextExamples } from "../../../src/training/examples/step.ts";
import { withDefaults } from "../../../src/training/options/train-options.ts";
import { resolveRun } from "../../../src/training/run/run.ts";
import { iterationStage, unsupervisedStage } from "../../../src/training/run/stages.ts";
import { finish, writeAdaptationFiles } from "../../support/adaptation.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { TOKENIZER, temporaryFolder } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const { corpus, data } = writeAdaptationFiles(folder.path);
const tokenizer = await loadTokenizer(TOKENIZER);
const run = resolveRun(
  withDefaults({
    ...{ model: "unused", corpus, data, out: "unused", questions: 5, candidatesPerQuestion: 4 },
    ...{ unsupervisedSteps: 4, iterations: 2, steps: 3, qaSteps: 2 },
  }),
  { config: tinyConfig(), hasWeights: false, namesHead: false },
  { size: 12 },
);

test("first, passages are read without a question, and what was dropped from them is written", async () => {
  await using opened = await openCorpus(corpus);
  const stage = await finish(unsupervisedStage(run, opened, tokenizer));
  assert.equal([stage.first, stage.steps], [0, 4]);
  assert.equal(
    stage.objectives(0).map(({ name }) => name),
    ["reading"],
  );
  const examples = stage.examples(3);
  assert.is(examples.length, 5);
  for (const { question, answer, passages } of examples) {
    assert.equal(question, [tokenizer.eosId]);
    assert.match(tokenizer.decode(passages[0]!), /<extra_id_0>/);
    assert.match(tokenizer.decode(answer), /^<extra_id_0> .* <extra_id_\d>$/);
    assert.equal(
      [passages.length, passages[0]!.at(-1), answer.at(-1)],
      [1, tokenizer.eosId, tokenizer.eosId],
    );
  }
  assert.equal(stage.examples(3), examples);
  assert.not.equal(stage.examples(2), examples);
});

test("then questions, of which the first steps are not taught to retrieve", () => {
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
  assert.equal([first!.first, first!.steps, second!.first], [4, 3, 7]);
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
