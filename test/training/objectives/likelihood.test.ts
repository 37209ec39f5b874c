/** The reader's likelihood as a target: worked by hand, and its gradient in closed form. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Ops } from "../../../src/tensor/ops.ts";
import { adjustmentTo } from "../../../src/training/objectives/cross-document-adjustment.ts";
import { objectivesOf } from "../../../src/training/objectives/index.ts";
import { likelihoodTarget } from "../../../src/training/objectives/likelihood.ts";
import type { TokenExample } from "../../../src/training/objectives/token-batch.ts";
import { assertNear } from "../../support/arrays.ts";
import { centralDifferences } from "../../support/central-differences.ts";
import { drawn } from "../../support/draws.ts";
import { type NaiveTensor, naiveOps as ops } from "../../support/naive-ops.ts";

const matrix = (...rows: readonly (readonly number[])[]): NaiveTensor => ({
  data: Float64Array.from(rows.flat()),
  shape: [rows.length, rows[0]!.length],
});

test("the target is the posterior of the candidates under a uniform prior", () => {
  // The likelihoods of the second row underflow in float32; the third candidate there is padding.
  const answers = matrix([0.5, 0.25, 0.25].map(Math.log), [-300, -301, 0]);
  const isCandidate = matrix([1, 1, 1], [1, 1, 0]);
  const share = 1 / (1 + Math.exp(-1));
  const expected = [0.5, 0.25, 0.25, share, 1 - share, 0];
  assertNear(likelihoodTarget(ops, { answers, isCandidate }).data, expected, 1e-6);
});

test("the gradient with respect to the logits is the retrieval distribution minus the target", () => {
  const answers = drawn([2, 3], -4, 0, "answers");
  const counted = matrix([1, 1, 1], [1, 1, 1]);
  const target = likelihoodTarget(ops, { answers, isCandidate: counted });
  const bias = matrix([0, 0, 0, 0], [0, 0, 0, 0]);
  // The fourth passage is of another question.
  const loss = (ops: Ops<NaiveTensor>, logits: NaiveTensor): NaiveTensor => {
    const [ownLogits] = ops.split(logits, 1, [3, 1]) as [NaiveTensor, NaiveTensor];
    const { kl } = adjustmentTo(ops, target, { logits, ownLogits }, { bias, counted });
    return ops.sum(kl, [0]);
  };
  const logits = drawn([2, 4], -1, 1, "logits");
  const [gradient] = centralDifferences(loss, [logits]);
  const padded = ops.concat([target, matrix([0], [0])], 1);
  assertNear(gradient!, ops.subtract(ops.softmax(logits), padded).data, 1e-5);
});

test("labels that the data names are learned beside, and alone without an answer", () => {
  const [, labels] = objectivesOf("likelihood");
  const example = { question: [5, 1], answer: [6, 1], passages: [[7, 1]], positives: [0] };
  const learns = (changes: Partial<TokenExample>): boolean =>
    labels!.trains({ ...example, ...changes });
  assert.is(learns({ isLabelled: true }), true);
  assert.is(learns({ isLabelled: false }), false); // the passage only contains the answer
  assert.is(learns({ answer: [] }), true);
});

test.run();
