/** The marginal likelihood: worked by hand, and its gradient by Bayes' rule. */

import { test } from "uvu";
import type { Ops } from "../../../src/tensor/ops.ts";
import { marginalLogLikelihood } from "../../../src/training/objectives/marginal.ts";
import { assertNear } from "../../support/arrays.ts";
import { centralDifferences } from "../../support/central-differences.ts";
import { drawn } from "../../support/draws.ts";
import { type NaiveTensor, naiveOps as ops } from "../../support/naive-ops.ts";

test("the marginal likelihood sums over candidates", () => {
  // The likelihoods of the second row underflow in float32.
  const answers = { data: Float32Array.of(-1, -2, -300, -301), shape: [2, 2] };
  const candidates = {
    data: Float32Array.of(...[0.25, 0.75, 0.5, 0.5].map(Math.log)),
    shape: [2, 2],
  };
  const expected = [
    Math.log(0.25 * Math.exp(-1) + 0.75 * Math.exp(-2)),
    -300 + Math.log(0.5 * (1 + Math.exp(-1))),
  ];
  assertNear(marginalLogLikelihood(ops, { answers, candidates }).data, expected, 1e-6);
});

test("its gradient is the posterior of the candidates minus their prior", () => {
  const answers = drawn([2, 3], -3, 0, "answers");
  const loss = (ops: Ops<NaiveTensor>, logits: NaiveTensor): NaiveTensor =>
    ops.sum(marginalLogLikelihood(ops, { answers, candidates: ops.logSoftmax(logits) }), [0]);
  const logits = drawn([2, 3], -1, 1, "logits");
  const [gradient] = centralDifferences(loss, [logits]);
  const prior = ops.softmax(logits);
  const posterior = ops.softmax(ops.add(ops.logSoftmax(logits), answers)); // Bayes
  assertNear(gradient!, ops.subtract(posterior, prior).data, 1e-5);
});

test.run();
