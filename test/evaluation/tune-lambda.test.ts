import { test } from "uvu";
import * as assert from "uvu/assert";
import { robustLambda, tuneLambda } from "../../src/evaluation/tune-lambda.ts";
import { InputError } from "../../src/io/errors.ts";
import type { Ranking } from "../../src/retrieval/scoring/top-k.ts";
import { ordinal, union } from "../support/hybrid-scores.ts";

/** 1 if the relevant passage is first. */
const hit = ({ ordinals }: Ranking, { relevant }: { relevant: string }) =>
  ordinals[0] === ordinal(relevant) ? 1 : 0;

test("finds the lambda that ranks a development set best", () => {
  // The first question needs 10 + lambda < 8 + 4 lambda, so lambda > 2/3. The second needs 9 +
  // lambda > 5 + 2 lambda, so lambda < 4.
  const questions = [
    { union: union({ x: [10, 1], y: [8, 4] }), relevant: "y" },
    { union: union({ x: [9, 1], y: [5, 2] }), relevant: "x" },
  ];
  const { lambda, value, tried } = tuneLambda(questions, hit, [5, 0, 0.5, 1, 2, 3]);
  assert.equal({ lambda, value }, { lambda: 2, value: 1 });
  assert.equal(tried, [
    { lambda: 0, value: 0.5 },
    { lambda: 0.5, value: 0.5 },
    { lambda: 1, value: 1 },
    { lambda: 2, value: 1 },
    { lambda: 3, value: 1 },
    { lambda: 5, value: 0.5 },
  ]);
  // The spreads are 2 + 4 and 3 + 1, so the unit is 6 / 4, which is between the two bounds.
  const tuned = tuneLambda(questions, hit);
  assert.is(tuned.value, 1);
  assert.ok(tuned.lambda > 2 / 3 && tuned.lambda < 4);
  assert.is(tuned.tried.length, 22);
  assert.ok(tuned.tried.some((trial) => trial.lambda === 1.5));
});

test("the scale of the dense scores does not change the result", () => {
  const questions = (scale: number) => [
    { union: union({ x: [10, 1 * scale], y: [8, 4 * scale] }), relevant: "y" },
  ];
  const [small, large] = [1e-3, 1e3].map((scale) => tuneLambda(questions(scale), hit));
  assert.ok(Math.abs(small!.lambda / large!.lambda / 1e6 - 1) < 1e-9);
  assert.is(tuneLambda([{ union: union({}), relevant: "" }], hit).value, 0);
});

/** A question with two passages: the relevant one is first if lambda is above `threshold`. */
const above = (threshold: number) => ({
  union: union({ x: [10 + threshold, 0], y: [10, 1] }),
  relevant: "y",
});

test("one question gives the scale-matched lambda, many a value near the optimum", () => {
  // The ranges are 4 and 1, so the unit is 4, with which the passages are equal.
  assert.is(robustLambda([above(4)], hit), 4);
  assert.is(robustLambda([{ union: union({}), relevant: "" }], hit), 1);
  // The unit (0.5 + 3) / 2 = 1.75 is too low for half of the questions: far more than chance.
  const questions = (count: number) => [
    ...Array.from({ length: count }, () => above(0.5)),
    ...Array.from({ length: count }, () => above(3)),
  ];
  const chosen = [1, 5, 50].map((count) => robustLambda(questions(count), hit));
  assert.ok(chosen[2]! > 3, `${chosen}`);
  assert.ok(chosen[0]! < chosen[1]! && chosen[1]! < chosen[2]!, `${chosen}`);
});

test("a lambda without measurable loss counts like the best", () => {
  // Two questions that any lambda ranks alike, and one that needs less than the unit, 1.
  const alike = { union: union({ x: [11, 0], y: [10, 1] }), relevant: "z" };
  const below = { union: union({ x: [10.5, 0], y: [10, 0.5] }), relevant: "x" };
  const few = robustLambda([alike, alike, below], hit);
  const many = robustLambda([alike, alike, ...Array.from({ length: 50 }, () => below)], hit);
  assert.ok(many < few && few < 1, `${few} ${many}`);
  assert.ok(many < 0.5);
});

test("a known lambda stays unless the questions are clearly better with another one", () => {
  // Any lambda from 4 on ranks all questions right.
  const questions = (count: number) => Array.from({ length: count }, () => above(4));
  assert.is(robustLambda([{ union: union({}), relevant: "" }], hit, 4), 4);
  const [free, known] = [undefined, 8].map((lambda) => robustLambda(questions(50), hit, lambda));
  assert.ok(free! > 20, `${free}`);
  assert.is(known, 8);
  // One of 50 questions is no clear gain. One that all contradict gives way, but not far.
  const alike = Array.from({ length: 49 }, () => above(0.1));
  assert.is(robustLambda([...alike, above(4)], hit, 0.5), 0.5);
  const far = robustLambda(questions(50), hit, 0.5);
  assert.ok(far > 4 && far < 8, `${far}`);
});

test("rejects a development set without questions", () => {
  assert.throws(
    () => tuneLambda([], hit),
    (error: Error) => error instanceof InputError,
  );
});

test.run();
