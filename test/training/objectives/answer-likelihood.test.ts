/** The likelihood of answers against a naive loop in float64. */

import { test } from "uvu";
import {
  copyShares,
  labelLogProbabilities,
  meanNegative,
} from "../../../src/training/objectives/reading.ts";
import { assertNear } from "../../support/arrays.ts";
import { drawn, whole } from "../../support/draws.ts";
import { at, naiveOps as ops, tabulate } from "../../support/naive-ops.ts";

test("labels have their log probability, padding has 0", () => {
  const logits = drawn([2, 3, 4], -2, 2, "logits");
  const labels = whole([2, 3], 4, "int32");
  const labelMask = { data: Float32Array.of(1, 1, 1, 1, 0, 0), shape: [2, 3] };
  const expected = tabulate([2, 3], ([r, t]) => {
    const row = [0, 1, 2, 3].map((token) => at(logits, [r!, t!, token]));
    const normaliser = Math.log(row.reduce((sum, x) => sum + Math.exp(x), 0));
    return at(labelMask, [r!, t!]) === 0 ? 0 : row[at(labels, [r!, t!])]! - normaliser;
  });
  const actual = labelLogProbabilities(ops, { logits, labels, labelMask });
  assertNear(actual.data, expected.data, 1e-6);
});

test("labels of a decoder that copies have the probability of both ways", () => {
  const logits = drawn([2, 3, 4], -2, 2, "logits");
  const labels = whole([2, 3], 4, "int32");
  const labelMask = tabulate([2, 3], () => 1);
  const gate = drawn([2, 3], 0, 1, "gate");
  const weights = drawn([2, 3, 5], 0, 1, "attention");
  const attention = tabulate([2, 3, 5], ([r, t, j]) => {
    const sum = [0, 1, 2, 3, 4].reduce((total, i) => total + at(weights, [r!, t!, i]), 0);
    return at(weights, [r!, t!, j!]) / sum;
  });
  const ids = whole([2, 5], 4, "int32");
  const expected = tabulate([2, 3], ([r, t]) => {
    const label = at(labels, [r!, t!]);
    const exponentials = [0, 1, 2, 3].map((token) => Math.exp(at(logits, [r!, t!, token])));
    const written = exponentials[label]! / exponentials.reduce((a, b) => a + b);
    const share = [0, 1, 2, 3, 4]
      .filter((j) => at(ids, [r!, j]) === label)
      .reduce((total, j) => total + at(attention, [r!, t!, j]), 0);
    const g = at(gate, [r!, t!]);
    return Math.log((1 - g) * written + g * share);
  });
  const copy = { gate, shares: copyShares(ops, { attention, ids, labels }) };
  const actual = labelLogProbabilities(ops, { logits, labels, labelMask, copy });
  assertNear(actual.data, expected.data, 1e-6);
});

test("the mean is over the labels of the batch", () => {
  const logs = { data: Float32Array.of(-1, -2, -3, 0), shape: [2, 2] };
  const count = { data: Float32Array.of(4), shape: [] };
  assertNear(meanNegative(ops, logs, count).data, [1.5], 0);
});

test.run();
