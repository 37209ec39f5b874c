/** The target of questions with known positives, and its loss. */

import { test } from "uvu";
import type { Ops } from "../../../src/tensor/ops.ts";
import {
  crossDocumentAdjustment,
  inBatchLogNormaliser,
} from "../../../src/training/loss/cross-document-adjustment.ts";
import { retrievalTarget } from "../../../src/training/loss/supervised.ts";
import { assertNear } from "../../support/arrays.ts";
import { centralDifferences } from "../../support/central-differences.ts";
import { drawn } from "../../support/draws.ts";
import { type NaiveTensor, naiveOps as ops } from "../../support/naive-ops.ts";

const [Q, K] = [3, 3];
const shape = [Q, K];
/** One positive, two, none. */
const positives = { data: Float32Array.of(0, 1, 0, 1, 0, 1, 0, 0, 0), shape };
const attention = ops.softmax(drawn(shape, -1, 1, "attention"));
const logits = drawn(shape, -2, 2, "logits");

test("the target is the share among the positives, or the target attention without any", () => {
  const target = retrievalTarget(ops, { positives, ownLogits: logits, targetAttention: attention });
  const share = Math.exp(logits.data[3]!) / (Math.exp(logits.data[3]!) + Math.exp(logits.data[5]!));
  const expected = [0, 1, 0, share, 0, 1 - share, ...attention.data.slice(6)];
  assertNear(target.data, expected, 1e-6);
  assertNear(target.data.slice(0, 3), [0, 1, 0], 0); // exactly the one-hot target
});

/** The mean KL divergence over the question's own candidates. */
function divergence(ops: Ops<NaiveTensor>, ownLogits: NaiveTensor): NaiveTensor {
  const logNormaliser = inBatchLogNormaliser(ops, {
    scores: ownLogits,
    normaliserBias: { data: new Float32Array(Q * K), shape },
    logScale: { data: Float32Array.of(0), shape: [] },
  });
  const target = retrievalTarget(ops, { positives, ownLogits, targetAttention: attention });
  return crossDocumentAdjustment(ops, { ownLogits, target, logNormaliser }).kl;
}

test("the divergence is -log of the summed probability of the positives", () => {
  const log = ops.logSoftmax(logits).data;
  const expected = [
    -log[1]!,
    -Math.log(Math.exp(log[3]!) + Math.exp(log[5]!)),
    [6, 7, 8].reduce(
      (sum, i) => sum + attention.data[i]! * (Math.log(attention.data[i]!) - log[i]!),
      0,
    ),
  ];
  assertNear(divergence(ops, logits).data, expected, 1e-6);
});

test("its gradient is P_ret minus the target, as no gradient flows to the target", () => {
  const loss = (ops: Ops<NaiveTensor>, x: NaiveTensor): NaiveTensor =>
    ops.sum(divergence(ops, x), [0]);
  const [gradient] = centralDifferences(loss, [logits]);
  const target = retrievalTarget(ops, { positives, ownLogits: logits, targetAttention: attention });
  assertNear(gradient!, ops.subtract(ops.softmax(logits), target).data, 1e-5);
});

test.run();
