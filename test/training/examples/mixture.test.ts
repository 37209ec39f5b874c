import { test } from "uvu";
import * as assert from "uvu/assert";
import type { TextExamples } from "../../../src/training/examples/step.ts";
import {
  apportion,
  mixture,
  type TrainingData,
} from "../../../src/training/examples/training-data.ts";
import { refused } from "../../checkpoints/support.ts";
import { finish } from "../../support/adaptation.ts";

const dataOf = (name: string, size: number): TrainingData => ({
  digest: name,
  async *examples() {
    return {
      size,
      example: (index) => ({
        ...{ question: `${name} ${index}`, answer: "" },
        ...{ passages: [], relevant: [], answers: [] },
      }),
    };
  },
});

const PARTS = [
  { name: "spans", weight: 1, data: dataOf("spans", 1000) },
  { name: "questions", weight: 2, data: dataOf("questions", 7) },
  { name: "labels", weight: 0.5, data: dataOf("labels", 30) },
];
const questionsOf = (source: TextExamples) =>
  Array.from({ length: source.size }, (_, i) => source.example(i, 0).question);
const drawn = async (seed: number, iteration = 0, parts = PARTS) =>
  questionsOf(await finish(mixture(parts, { examples: 70, seed }).examples(iteration, undefined)));

test("an iteration has each part in its proportion, small parts again and again, large ones in part", async () => {
  const questions = await drawn(0);
  const count = (name: string) => questions.filter((question) => question.startsWith(name)).length;
  assert.equal([count("spans"), count("questions"), count("labels")], [20, 40, 10]);
  const distinct = (name: string) =>
    new Set(questions.filter((question) => question.startsWith(name))).size;
  assert.equal([distinct("spans"), distinct("questions"), distinct("labels")], [20, 7, 10]);
});

test("seed and iteration determine it; its digest says what it is made of", async () => {
  assert.equal(await drawn(0), await drawn(0));
  assert.not.equal(await drawn(0), await drawn(1));
  assert.not.equal(await drawn(0), await drawn(0, 1));
  const digest = (parts: typeof PARTS) => mixture(parts, { examples: 70, seed: 0 }).digest;
  assert.is(digest(PARTS), digest([...PARTS]));
  assert.is.not(digest(PARTS), digest(PARTS.map((part) => ({ ...part, weight: part.weight + 1 }))));
  assert.is.not(digest(PARTS), digest(PARTS.slice(1)));
});

test("a source without examples leaves its part to the others", async () => {
  const empty = { name: "crops", weight: 5, data: dataOf("crops", 0) };
  assert.equal((await drawn(0, 0, [empty, ...PARTS])).sort(), (await drawn(0)).sort());
  await refused(drawn(0, 0, [empty]), /crops: expected an example with a candidate that helps/);
});

test("a run of any length has a list that fits into memory", async () => {
  const { size } = await finish(mixture(PARTS, { examples: 1e9, seed: 0 }).examples(0, undefined));
  assert.is(size, 1_000_000);
});

test("largest remainders: the parts sum to the whole and are less than one from their share", () => {
  for (const total of [0, 1, 2, 10, 99, 1000]) {
    for (const weights of [[1], [1, 1, 1], [0.1, 5, 2], [3, 7]]) {
      const counts = apportion(
        weights.map((weight) => ({ weight })),
        total,
      );
      const sum = weights.reduce((all, weight) => all + weight, 0);
      assert.is(
        counts.reduce((all, count) => all + count, 0),
        total,
      );
      counts.forEach((count, i) => {
        assert.ok(Math.abs(count - (total * weights[i]!) / sum) < 1);
      });
    }
  }
});

test.run();
