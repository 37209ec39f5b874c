/** Training data from questions. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openCorpus } from "../../../src/training/data/corpus.ts";
import type { TextExample } from "../../../src/training/data/example-source.ts";
import { questionData } from "../../../src/training/data/question-data.ts";
import {
  readTrainingFile,
  type TrainingQuestion,
} from "../../../src/training/data/training-questions.ts";
import { withDefaults } from "../../../src/training/options/train-options.ts";
import { finish, writeAdaptationFiles } from "../../support/adaptation.ts";
import { temporaryFolder } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const { corpus, data } = writeAdaptationFiles(folder.path);

async function examplesOf(objective: "distillation" | "marginal"): Promise<TextExample[]> {
  const out = join(folder.path, objective);
  mkdirSync(out);
  const options = withDefaults({
    model: "unused",
    data: "unused",
    corpus,
    out,
    candidatesPerQuestion: 3,
    objective,
  });
  await using opened = await openCorpus(corpus);
  const training = questionData(options, opened, await readTrainingFile(data));
  const source = await finish(training.examples(0, undefined));
  return Array.from({ length: source.size }, (_, i) => source.example(i, 0));
}

test("each question has its source passage among its candidates", async () => {
  for (const { question, passages, relevant } of await examplesOf("distillation")) {
    assert.is(new Set(passages.map(({ id }) => id)).size, 3);
    const own = passages.find(({ title }) => question.includes(title) && title !== "");
    assert.equal(relevant, [own!.id]);
  }
});

test("with the objective marginal, one of its passages is the null passage", async () => {
  for (const { question, passages } of await examplesOf("marginal")) {
    assert.is(passages.length, 3);
    assert.equal(passages[2], { id: "", title: "", text: "" });
    assert.ok(passages.slice(0, 2).every(({ text }) => text !== ""));
    assert.ok(passages.slice(0, 2).some(({ title }) => question.includes(title)));
  }
});

test("candidates are found only for the questions of an iteration, other questions in each", async () => {
  const options = withDefaults({
    model: "unused",
    data: "unused",
    corpus,
    out: folder.path,
    candidatesPerQuestion: 2,
    steps: 2,
    questions: 3,
  });
  const questions = await readTrainingFile(data);
  await using opened = await openCorpus(corpus);
  const training = questionData(options, opened, questions);
  const searched: string[] = [];
  const first = async (some: readonly TrainingQuestion[]): Promise<string[][]> => {
    searched.push(...some.map(({ question }) => question));
    return some.map(() => ["p0", "p1"]);
  };
  const iterations: string[][] = [];
  for (const iteration of [0, 1, 2]) {
    const { size, example } = await finish(training.examples(iteration, first));
    assert.is(size, 6);
    const examples = Array.from({ length: size }, (_, i) => example(i, 0));
    for (const { question, passages, relevant } of examples)
      assert.ok(
        question.includes(passages.find(({ id }) => id === relevant[0])!.title),
        "with its own passage",
      );
    iterations.push(examples.map(({ question }) => question));
    assert.equal(searched.splice(0), iterations.at(-1));
    assert.is(new Set(iterations.at(-1)).size, 6);
  }
  assert.ok(new Set(iterations.flat()).size > 6);
});

test.run();
