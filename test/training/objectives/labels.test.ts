/** The target of questions with known positives, and its loss. */

import { test } from "uvu";
import type { Ops } from "../../../src/tensor/ops.ts";
import {
  crossDocumentAdjustment,
  inBatchLogNormaliser,
} from "../../../src/training/objectives/cross-document-adjustment.ts";
import { positivesTarget } from "../../../src/training/objectives/labels.ts";
import { assertNear } from "../../support/arrays.ts";
import { centralDifferences } from "../../support/central-differences.ts";
import { drawn } from "../../support/draws.ts";
import { type NaiveTensor, naiveOps as ops } from "../../support/naive-ops.ts";

const [Q, K] = [3, 3];
const shape = [Q, K];
/** One positive, two, none. */
const positives = { data: Float32Array.of(0, 1, 0, 1, 0, 1, 0, 0, 0), shape };
const logits = drawn(shape, -2, 2, "logits");

test("the target is the share among the positives, 0 without any", () => {
  const target = positivesTarget(ops, { positives, ownLogits: logits });
  const share = Math.exp(logits.data[3]!) / (Math.exp(logits.data[3]!) + Math.exp(logits.data[5]!));
  const expected = [0, 1, 0, share, 0, 1 - share, 0, 0, 0];
  assertNear(target.data, expected, 1e-6);
  assertNear(target.data.slice(0, 3), [0, 1, 0], 0); // exactly the one-hot target
});

/** The mean KL divergence over the question's own candidates. */
function divergence(ops: Ops<NaiveTensor>, ownLogits: NaiveTensor): NaiveTensor {
  const logNormaliser = inBatchLogNormaliser(ops, {
    logits: ownLogits,
    bias: { data: new Float32Array(Q * K), shape },
  });
  const target = positivesTarget(ops, { positives, ownLogits });
  return crossDocumentAdjustment(ops, { ownLogits, target, logNormaliser }).kl;
}

test("the divergence is -log of the summed probability of the positives", () => {
  const log = ops.logSoftmax(logits).data;
  const expected = [-log[1]!, -Math.log(Math.exp(log[3]!) + Math.exp(log[5]!)), 0];
  assertNear(divergence(ops, logits).data, expected, 1e-6);
});

test("its gradient is P_ret minus the target, as no gradient flows to the target", () => {
  const loss = (ops: Ops<NaiveTensor>, x: NaiveTensor): NaiveTensor =>
    ops.sum(divergence(ops, x), [0]);
  const [gradient] = centralDifferences(loss, [logits]);
  const target = positivesTarget(ops, { positives, ownLogits: logits });
  const difference = ops.subtract(ops.softmax(logits), target).data;
  assertNear(gradient!.slice(0, 6), difference.slice(0, 6), 1e-5);
  assertNear(gradient!.slice(6), [0, 0, 0], 1e-9);
});

test.run();
