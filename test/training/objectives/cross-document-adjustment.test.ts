/** The cross-document adjustment loss against sums written out in float64. */

import { test } from "uvu";
import { MASKED } from "../../../src/model/layers/attention.ts";
import {
  candidateLogits,
  crossDocumentAdjustment,
  inBatchLogNormaliser,
} from "../../../src/training/objectives/cross-document-adjustment.ts";
import { assertNear } from "../../support/arrays.ts";
import { drawn } from "../../support/draws.ts";
import { at, naiveOps as ops, tabulate } from "../../support/naive-ops.ts";

const TOLERANCE = 1e-6;
const range = (length: number): number[] => Array.from({ length }, (_, i) => i);
const sum = (values: readonly number[]): number => values.reduce((total, x) => total + x, 0);
const scalar = (value: number) => ({ data: Float32Array.of(value), shape: [] });

const [Q, K] = [3, 2];
const scores = drawn([Q, Q * K], -2, 2, "scores");
const target = ops.softmax(drawn([Q, K], -1, 1, "target"));
const ownScores = tabulate([Q, K], ([q, k]) => at(scores, [q!, q! * K + k!]));
const logScale = scalar(0.4);

for (const inBatchNegatives of [true, false])
  test(`KL(target || retrieval), in-batch negatives ${inBatchNegatives}`, () => {
    const counts = (q: number, p: number): boolean => inBatchNegatives || Math.floor(p / K) === q;
    const bias = tabulate([Q, Q * K], ([q, p]) => (counts(q!, p!) ? 0 : MASKED));
    const logits = ops.multiply(scores, ops.exp(logScale));
    const logNormaliser = inBatchLogNormaliser(ops, { logits, bias });
    const candidateMask = tabulate([Q, K], () => 1);
    const allLogits = ops.multiply(ownScores, ops.exp(logScale));
    const ownLogits = candidateLogits(ops, { allLogits, candidateMask });
    const { kl, logProbabilities } = crossDocumentAdjustment(ops, {
      ownLogits,
      target,
      logNormaliser,
    });
    for (const q of range(Q)) {
      const ofPassages = range(Q * K).map((p) => Math.exp(0.4) * at(scores, [q, p]));
      const total = sum(ofPassages.filter((_, p) => counts(q, p)).map(Math.exp));
      const own = range(K).map((k) => Math.exp(ofPassages[q * K + k]!) / total);
      const actual = range(K).map((k) => Math.exp(at(logProbabilities, [q, k])));
      assertNear(actual, own, TOLERANCE);
      const divergence = own.map((p, k) => at(target, [q, k]) * Math.log(at(target, [q, k]) / p));
      assertNear([kl.data[q]!], [sum(divergence)], 1e-5);
    }
  });

test("a candidate with the target 0 adds nothing to the divergence", () => {
  const { kl } = crossDocumentAdjustment(ops, {
    ownLogits: { data: Float32Array.of(0, 0), shape: [1, 2] },
    target: { data: Float32Array.of(1, 0), shape: [1, 2] },
    logNormaliser: { data: Float32Array.of(Math.log(2)), shape: [1] },
  });
  assertNear(kl.data, [Math.log(2)], TOLERANCE);
});

test("the normaliser does not overflow for large scores", () => {
  const { data } = inBatchLogNormaliser(ops, {
    logits: { data: Float32Array.of(500, 499), shape: [1, 2] },
    bias: { data: Float32Array.of(0, 0), shape: [1, 2] },
  });
  assertNear(data, [500 + Math.log(1 + Math.exp(-1))], TOLERANCE);
});

test.run();
