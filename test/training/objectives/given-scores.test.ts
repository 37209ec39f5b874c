/** The loss of given scores against sums written out in float64. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Ops } from "../../../src/tensor/ops.ts";
import {
  givenDistribution,
  softTargetLoss,
} from "../../../src/training/objectives/given-scores.ts";
import { assertNear } from "../../support/arrays.ts";
import { centralDifferences } from "../../support/central-differences.ts";
import { drawn } from "../../support/draws.ts";
import { type NaiveTensor, naiveOps as ops } from "../../support/naive-ops.ts";

const shape = [3, 3];
const logits = drawn(shape, -2, 2, "logits");
const SCORES = [
  [3, 1, 2],
  [undefined, 5, 4],
  [undefined, undefined, undefined],
];
const target = {
  data: Float32Array.from(SCORES.flatMap((scores) => givenDistribution(scores, 2))),
  shape,
};
const scored = {
  data: Float32Array.from(SCORES.flat().map((score) => Number(score !== undefined))),
  shape,
};

test("the target is a softmax over the scored candidates", () => {
  const [a, b, c] = [3, 1, 2].map((score) => Math.exp(score / 2)) as [number, number, number];
  const total = a + b + c;
  assertNear(givenDistribution([3, 1, 2], 2), [a / total, b / total, c / total], 1e-12);
  const share = 1 / (1 + Math.exp(-1 / 2));
  assertNear(givenDistribution([undefined, 5, 4], 2), [0, share, 1 - share], 1e-12);
  assert.equal(givenDistribution([undefined, undefined], 2), [0, 0]);
  assert.equal(givenDistribution([900, -900, 900], 1), [0.5, 0, 0.5]);
});

test("the loss is KL(given || retrieval over the scored candidates), 0 without scores", () => {
  const expected = SCORES.map((scores, q) => {
    const shares = givenDistribution(scores, 2);
    const weights = scores.map((score, k) =>
      score === undefined ? 0 : Math.exp(logits.data[q * 3 + k]!),
    );
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return shares.reduce(
      (sum, share, k) => sum + (share > 0 ? share * Math.log((share * total) / weights[k]!) : 0),
      0,
    );
  });
  const { data } = softTargetLoss(ops, { logits, target, scored });
  assertNear(data, expected, 1e-6);
  assert.is(data[2], 0);
});

test("its gradient is the retrieval distribution minus the target", () => {
  const loss = (ops: Ops<NaiveTensor>, x: NaiveTensor): NaiveTensor =>
    ops.sum(softTargetLoss(ops, { logits: x, target, scored }), [0]);
  const [gradient] = centralDifferences(loss, [logits]);
  const expected = SCORES.flatMap((scores, q) => {
    const weights = scores.map((score, k) =>
      score === undefined ? 0 : Math.exp(logits.data[q * 3 + k]!),
    );
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const shares = givenDistribution(scores, 2);
    return weights.map((weight, k) => (weight === 0 ? 0 : weight / total - shares[k]!));
  });
  assertNear(gradient!, expected, 1e-5);
});

test.run();
