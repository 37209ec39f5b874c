import { test } from "uvu";
import * as assert from "uvu/assert";
import type { ExampleSource } from "../../../src/training/examples/example-source.ts";
import { apportion, mixedData } from "../../../src/training/examples/mixed-data.ts";
import type { TrainingData } from "../../../src/training/examples/training-data.ts";
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
const questionsOf = (source: ExampleSource) =>
  Array.from({ length: source.size }, (_, i) => source.example(i, 0).question);
const mixture = async (seed: number, iteration = 0, parts = PARTS) =>
  questionsOf(
    await finish(mixedData(parts, { examples: 70, seed }).examples(iteration, undefined)),
  );

test("an iteration has each part in its proportion, small parts again and again, large ones in part", async () => {
  const questions = await mixture(0);
  const count = (name: string) => questions.filter((question) => question.startsWith(name)).length;
  assert.equal([count("spans"), count("questions"), count("labels")], [20, 40, 10]);
  const distinct = (name: string) =>
    new Set(questions.filter((question) => question.startsWith(name))).size;
  assert.equal([distinct("spans"), distinct("questions"), distinct("labels")], [20, 7, 10]);
});

test("seed and iteration determine it; its digest says what it is made of", async () => {
  assert.equal(await mixture(0), await mixture(0));
  assert.not.equal(await mixture(0), await mixture(1));
  assert.not.equal(await mixture(0), await mixture(0, 1));
  const digest = (parts: typeof PARTS) => mixedData(parts, { examples: 70, seed: 0 }).digest;
  assert.is(digest(PARTS), digest([...PARTS]));
  assert.is.not(digest(PARTS), digest(PARTS.map((part) => ({ ...part, weight: part.weight + 1 }))));
  assert.is.not(digest(PARTS), digest(PARTS.slice(1)));
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
