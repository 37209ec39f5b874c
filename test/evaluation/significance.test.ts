/** Intervals and the paired test against exact values. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { meanInterval, pairedDifference } from "../../src/evaluation/significance.ts";
import { standardError } from "../../src/math/standard-error.ts";

const near = (value: number, expected: number, tolerance: number): void =>
  assert.ok(Math.abs(value - expected) <= tolerance, `${value}, not ${expected}`);

test("the interval of a mean is about two standard errors to each side", () => {
  const values = Array.from({ length: 400 }, (_, i) => Number(i % 4 === 0)); // mean 0.25
  const error = Math.sqrt((0.25 * 0.75) / 400);
  const [low, high] = meanInterval(values);
  near(low, 0.25 - 1.96 * error, 0.003);
  near(high, 0.25 + 1.96 * error, 0.003);
  assert.equal(meanInterval(values), [low, high]);
  assert.equal(meanInterval([0.5, 0.5, 0.5]), [0.5, 0.5]);
});

test("values of a group count as one draw", () => {
  const values = Array.from({ length: 60 }, (_, i) => Number(i % 4 === 0));
  const copies = values.flatMap((value) => [value, value, value]);
  const groups = copies.map((_, i) => Math.floor(i / 3));
  assert.equal(meanInterval(copies, groups), meanInterval(values));
  near(standardError(copies, groups), standardError(values), 1e-12);
  near(standardError(values), Math.sqrt((0.25 * 0.75) / 59), 1e-12);
  near(
    pairedDifference(
      copies.map(() => 0),
      copies,
      groups,
    ).p,
    2 / 2 ** 15,
    1e-3,
  );
  // Deviations from the mean 2: -1 - 1, 0 + 2 in two groups: 2 / 1 * (4 + 4) / 16.
  near(standardError([1, 1, 2, 4], [7, 7, 3, 3]), 1, 1e-12);
  assert.ok(Number.isNaN(standardError([1, 2], [0, 0])), "one group proves nothing");
});

test("p is the share of exchanges with as large a difference", () => {
  // Of 2^5 exchanges of five equal gains, two have all of them on one side.
  near(pairedDifference([0, 0, 0, 0, 0], [1, 1, 1, 1, 1]).p, 2 / 32, 0.01);
  // Gains 1, 1, 1, -1: the sum is 2 or more, or -2 or less, in 10 of 16.
  const { difference, p } = pairedDifference([0, 0, 0, 1], [1, 1, 1, 0]);
  assert.is(difference, 0.5);
  near(p, 10 / 16, 0.02);
  assert.is(pairedDifference([0.2, 0.4], [0.2, 0.4]).p, 1);
});

test.run();
