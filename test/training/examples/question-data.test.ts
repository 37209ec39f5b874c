/** Training data from questions. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openCorpus } from "../../../src/training/examples/corpus.ts";
import type { TextExample } from "../../../src/training/examples/example-source.ts";
import { questionData } from "../../../src/training/examples/question-data.ts";
import {
  readTrainingFile,
  type TrainingQuestion,
} from "../../../src/training/examples/training-questions.ts";
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

test("with the objective retrieval, questions with scores keep the scored candidates", async () => {
  const out = join(folder.path, "scored");
  mkdirSync(out);
  const options = withDefaults({
    ...{ model: "unused", data: "unused", corpus, out },
    ...{ candidatesPerQuestion: 3, objective: "retrieval" },
  });
  await using opened = await openCorpus(corpus);
  const [first, second, ...others] = await readTrainingFile(data);
  const { passageId: _, ...unlabelled } = second!;
  const questions: TrainingQuestion[] = [
    { ...first!, contexts: ["p4", "p5", "p6", "p7"], scores: [1, undefined, 3, 4] },
    { ...unlabelled, contexts: ["p8", "p9", "p10", "p11"], scores: [4, 3, 2, 1] },
    ...others,
  ];
  const training = questionData(options, opened, questions);
  const source = await finish(training.examples(1, async (asked) => asked.map(() => ["p1", "p2"])));
  const idsOf = (place: number) => source.example(place, 0).passages.map(({ id }) => id);
  assert.equal(idsOf(0), ["p4", "p6", "p0"]); // the labelled passage takes the last place
  assert.equal(source.example(0, 0).scores, [1, 3, undefined]);
  assert.equal(source.example(0, 0).relevant, ["p0"]);
  assert.equal(idsOf(1), ["p8", "p9", "p10"]);
  assert.equal(source.example(1, 0).scores, [4, 3, 2]);
  assert.equal(source.example(1, 0).relevant, []);
  assert.equal(idsOf(2).slice(0, 2), ["p1", "p2"]);
  assert.equal(source.example(2, 0).scores, [undefined, undefined, undefined]);
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
