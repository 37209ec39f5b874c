/** The negative log likelihood against a naive loop in float64. */

import { test } from "uvu";
import { labelLogProbabilities, meanNegativeLog } from "../../../src/training/loss/nll.ts";
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

test("the mean is over the labels of the batch", () => {
  const logs = { data: Float32Array.of(-1, -2, -3, 0), shape: [2, 2] };
  const batchLabels = { data: Float32Array.of(4), shape: [] };
  assertNear(meanNegativeLog(ops, logs, batchLabels).data, [1.5], 0);
});

test.run();
