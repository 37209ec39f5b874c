/** The scores of the decoder, compared with the loss of reading one passage at a time. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readConfig } from "../../../src/model/config.ts";
import { loadTokenizer } from "../../../src/text/tokenizer.ts";
import { adapt } from "../../../src/training/adapt.ts";
import { lossAndGradients } from "../../../src/training/engine/loss-and-gradients.ts";
import type { TextExample, TextExamples } from "../../../src/training/examples/step.ts";
import { withDecoderScores } from "../../../src/training/run/decoder-teacher.ts";
import { startingParameters } from "../../../src/training/run/starting-parameters.ts";
import { finish, PASSAGES, writeAdaptationFiles } from "../../support/adaptation.ts";
import { assertNear } from "../../support/arrays.ts";
import { temporaryFolder, writeTinyModel } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const model = join(folder.path, "model");
mkdirSync(model);
await writeTinyModel(model);
const files = writeAdaptationFiles(folder.path);

const example = (i: number, answer: string, of: readonly number[]): TextExample => ({
  question: `who opened the harbour number ${i}?`,
  answer,
  passages: of.map((passage) => PASSAGES[passage]!),
  relevant: [],
  answers: [],
  retrievalOnly: answer === "",
});
const examples = [
  example(0, "a king", [0, 1, 2]),
  example(1, "", [3, 4]),
  example(2, "long ago", [5, 6, 7]),
  example(3, "the early spring", [8, 8]),
  example(4, "train", [9]),
];
const source: TextExamples = { size: examples.length, example: (index) => examples[index]! };

async function scored(teacher: "answer" | "question", resume = false, scale = 1) {
  const config = await readConfig(model);
  const tokenizer = await loadTokenizer(join(model, "spiece.model"), config.vocabularySize);
  const parameters = await startingParameters({ model, seed: 0, tau: undefined }, config);
  for (const { value } of parameters.values()) for (const i of value.keys()) value[i]! *= scale;
  const out = join(folder.path, teacher);
  mkdirSync(join(out, "checkpoint"), { recursive: true });
  const options = { out, resume, teacher, maxPassageTokens: 512, maxAnswerTokens: 64 };
  const run = withDecoderScores(
    source,
    0,
    { ...options, provider: "cpu" },
    {
      ...{ config, tokenizer, parameters },
    },
  );
  const taught = await finish(run);
  return { tokenizer, scores: examples.map((_, i) => taught.example(i, 7).scores!) };
}

test("the score is the log likelihood of the answer, given question and passage", async () => {
  const { tokenizer, scores } = await scored("answer");
  for (const [i, { question, answer, passages }] of examples.entries()) {
    if (answer === "") {
      assert.equal(scores[i], [undefined, undefined]);
      continue;
    }
    const tokens = tokenizer.encode(answer).length + 1; // and </s>
    const expected: number[] = [];
    for (const passage of passages) {
      const batch = { questions: [question], answers: [answer], passages: [[passage]] };
      expected.push(-tokens * (await lossAndGradients(model, batch, { alpha: 0 })).nll);
    }
    assertNear(scores[i]!.map(Number), expected, 1e-3);
  }
});

test("a resumed run has the scores of the model that began the iteration", async () => {
  const { scores } = await scored("answer", true, 0.5);
  assert.equal(scores, (await scored("answer", true)).scores);
  assert.is.not(scores[0]![0], (await scored("answer", false, 0.5)).scores[0]![0]);
});

test("every question has a likelihood, also without an answer", async () => {
  const { scores } = await scored("question");
  assert.equal(
    scores.map((ofQuestion) => ofQuestion.length),
    examples.map(({ passages }) => passages.length),
  );
  assert.ok(scores.flat().every((score) => Number.isFinite(score) && score! < 0));
});

test("an adaptation learns from the decoder", async () => {
  const options = { model, ...files, out: join(folder.path, "adapted"), steps: 3, questions: 2 };
  const { training } = await finish(
    adapt({ ...options, objective: "retrieval", teacher: "answer", candidatesPerQuestion: 2 }),
  );
  assert.is(training!.step, 3);
  const refused = finish(adapt({ ...options, out: join(folder.path, "no"), teacher: "answer" }));
  const message = await refused.then(() => "", String);
  assert.match(message, /teacher: expected the objective retrieval.* got the objective supervised/);
});

test.run();
