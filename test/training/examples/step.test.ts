/** Which examples a step takes. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  drawIndexes,
  lengthBucketedSample,
  type TextExamples,
} from "../../../src/training/examples/step.ts";

/** Example `i` has a passage of 7 i mod `size` characters. */
const ofLengths = (size: number): TextExamples => ({
  size,
  example: (index) => ({
    question: "",
    answer: "",
    passages: [
      { id: "long", title: "", text: "x".repeat((7 * index) % size) },
      { id: "short", title: "", text: "" },
    ],
    ...{ relevant: [], answers: [] },
  }),
});

const ascending = (numbers: readonly number[]): number[] => [...numbers].sort((a, b) => a - b);

test("steps of a pool share out what is drawn for all of them, each a range of lengths", () => {
  const size = 100; // four pools an epoch: 6 steps of 4 questions each
  for (const seed of ["a", "b", "c"]) {
    const steps = [0, 1, 2, 3, 4, 5].map((step) =>
      lengthBucketedSample(ofLengths(size), { seed, step, count: 4 }),
    );
    assert.equal(
      ascending(steps.flat()),
      ascending(drawIndexes(size, { seed, step: 0, count: 24 })),
    );
    const lengths = steps.map((drawn) => ascending(drawn.map((index) => (7 * index) % size)));
    const byShortest = lengths.toSorted((a, b) => a[0]! - b[0]!);
    assert.equal(byShortest.flat(), ascending(lengths.flat()));
  }
});

test("short examples come at any time of training", () => {
  const shortestFirst = Array.from({ length: 60 }, (_, pool) => {
    const [first, second] = [0, 1].map((i) =>
      lengthBucketedSample(ofLengths(100), { seed: "a", step: 6 * pool + i, count: 4 }).map(
        (index) => (7 * index) % 100,
      ),
    );
    return Math.min(...first!) < Math.min(...second!);
  });
  const share = shortestFirst.filter(Boolean).length / shortestFirst.length;
  assert.ok(share > 0.3 && share < 0.7, `${share}`);
});

test("an epoch takes every example once", () => {
  const drawn = Array.from({ length: 24 }, (_, step) =>
    lengthBucketedSample(ofLengths(96), { seed: "a", step, count: 4 }),
  ).flat();
  assert.equal(ascending(drawn), [...Array(96).keys()]);
});

test("the steps of a pool look at each of its examples once", () => {
  let looks = 0;
  const source = ofLengths(100);
  const watched: TextExamples = {
    size: source.size,
    example: (index, step) => {
      looks++;
      return source.example(index, step);
    },
  };
  for (let step = 0; step < 6; step++) lengthBucketedSample(watched, { seed: "a", step, count: 4 });
  assert.is(looks, 24);
});

test("few examples are drawn step by step", () => {
  const drawn = lengthBucketedSample(ofLengths(15), { seed: "a", step: 2, count: 5 });
  assert.equal(ascending(drawn), ascending(drawIndexes(15, { seed: "a", step: 2, count: 5 })));
});

test.run();
