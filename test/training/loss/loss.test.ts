/** The objectives against sums written out from the papers, in float64. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Ops } from "../../../src/tensor/ops.ts";
import {
  answerShares,
  distillation,
  headScores,
  labelLogProbabilities,
  logNormalisers,
  marginalLogLikelihood,
  mixHeads,
  scoresOfBatch,
} from "../../../src/training/loss/loss.ts";
import { assertNear } from "../../support/arrays.ts";
import { centralDifferences } from "../../support/central-differences.ts";
import { drawn, whole } from "../../support/draws.ts";
import { at, type NaiveTensor, naiveOps as ops, tabulate } from "../../support/naive-ops.ts";

const TOLERANCE = 1e-6;
const range = (length: number): number[] => Array.from({ length }, (_, i) => i);
const sum = (numbers: readonly number[]): number => numbers.reduce((total, x) => total + x, 0);

test("scores are the average over question tokens of the best match among passage tokens", () => {
  const [Q, U, H, n, m, e] = [2, 3, 2, 4, 5, 3];
  const queries = drawn([Q, H, n, e], -1, 1, "queries");
  const keys = drawn([U, H, m, e], -1, 1, "keys");
  const [questionTokens, passageTokens] = [
    [4, 2],
    [5, 1, 3],
  ];
  const questionMask = tabulate([Q, n], ([q, i]) => (i! >= n - questionTokens[q!]! ? 1 : 0)); // padded on the left
  const passageMask = tabulate([U, m], ([u, j]) => (j! < passageTokens[u!]! ? 1 : 0));
  const expected = tabulate([H, Q, U], ([h, q, u]) => {
    const seen = range(n).filter((i) => at(questionMask, [q!, i]) === 1);
    const best = seen.map((i) =>
      Math.max(
        ...range(passageTokens[u!]!).map((j) =>
          sum(range(e).map((k) => at(queries, [q!, h!, i, k]) * at(keys, [u!, h!, j, k]))),
        ),
      ),
    );
    return sum(best) / seen.length;
  });
  const actual = headScores(ops, { queries, questionMask, keys, passageMask });
  assert.equal(actual.shape, [H, Q, U]);
  assertNear(actual.data, expected.data, TOLERANCE);
});

test("heads are mixed by the softmax of their weights over tau", () => {
  const scores = { data: Float32Array.of(1, 2, 3, 4, 10, 20, 30, 40), shape: [2, 2, 2] };
  const weights = { data: Float32Array.of(0, Math.log(3) / 2), shape: [2] }; // at tau 1/2: shares 1/4 and 3/4
  assertNear(mixHeads(ops, scores, weights, 0.5).data, [7.75, 15.5, 23.25, 31], TOLERANCE);
});

test("the batch has a column for each close passage, in the order of the questions", () => {
  const scores = { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] };
  const passageOf = { data: Int32Array.of(2, 0, 0, 1), shape: [4] };
  assert.equal([...scoresOfBatch(ops, scores, passageOf).data], [3, 1, 1, 2, 6, 4, 4, 5]);
});

const [Q, K] = [3, 2];
const batchScores = drawn([Q, Q * K], -2, 2, "scores");
const target = ops.softmax(drawn([Q, K], -1, 1, "target"));
const ownScores = tabulate([Q, K], ([q, k]) => at(batchScores, [q!, q! * K + k!]));
const logScale = { data: Float32Array.of(0.4), shape: [] };

for (const inBatchNegatives of [true, false])
  test(`KL(target || retrieval) ${inBatchNegatives ? "with" : "without"} in-batch negatives`, () => {
    const competes = (q: number, p: number): boolean => inBatchNegatives || Math.floor(p / K) === q;
    const mask = tabulate([Q, Q * K], ([q, p]) => Number(competes(q!, p!)));
    const logNormaliser = logNormalisers(ops, { scores: batchScores, candidates: mask, logScale });
    const { kl, ownLogProbabilities } = distillation(ops, {
      ownScores,
      target,
      logNormaliser,
      logScale,
    });
    for (const q of range(Q)) {
      const logits = range(Q * K).map((p) => Math.exp(0.4) * at(batchScores, [q, p]));
      const total = sum(logits.filter((_, p) => competes(q, p)).map(Math.exp));
      const own = range(K).map((k) => Math.exp(logits[q * K + k]!) / total);
      assertNear(
        range(K).map((k) => Math.exp(at(ownLogProbabilities, [q, k]))),
        own,
        TOLERANCE,
      );
      const divergence = own.map((p, k) => at(target, [q, k]) * Math.log(at(target, [q, k]) / p));
      assertNear([kl.data[q]!], [sum(divergence)], 1e-5);
    }
  });

test("a passage without attention adds nothing to the divergence", () => {
  const one = { data: Float32Array.of(1, 0), shape: [1, 2] };
  const scores = { data: Float32Array.of(0, 0), shape: [1, 2] };
  const logNormaliser = { data: Float32Array.of(Math.log(2)), shape: [1] };
  const zero = { data: Float32Array.of(0), shape: [] };
  const { kl } = distillation(ops, {
    ownScores: scores,
    target: one,
    logNormaliser,
    logScale: zero,
  });
  assertNear(kl.data, [Math.log(2)], TOLERANCE);
});

test("the normaliser withstands scores that would overflow", () => {
  const scores = { data: Float32Array.of(500, 499), shape: [1, 2] };
  const candidates = { data: Float32Array.of(1, 1), shape: [1, 2] };
  const zero = { data: Float32Array.of(0), shape: [] };
  const { data } = logNormalisers(ops, { scores, candidates, logScale: zero });
  assertNear(data, [500 + Math.log(1 + Math.exp(-1))], TOLERANCE);
});

test("labels have their log probability, padding has 0", () => {
  const logits = drawn([2, 3, 4], -2, 2, "logits");
  const labels = whole([2, 3], 4, "int32");
  const labelMask = { data: Float32Array.of(1, 1, 1, 1, 0, 0), shape: [2, 3] };
  const expected = tabulate([2, 3], ([r, t]) => {
    const row = range(4).map((token) => at(logits, [r!, t!, token]));
    const normaliser = Math.log(sum(row.map(Math.exp)));
    return at(labelMask, [r!, t!]) === 0 ? 0 : row[at(labels, [r!, t!])]! - normaliser;
  });
  assertNear(
    labelLogProbabilities(ops, { logits, labels, labelMask }).data,
    expected.data,
    TOLERANCE,
  );
});

test("the share of the attention that falls on the answer, where the answer stands", () => {
  const [Q, H, T, F] = [2, 3, 3, 5];
  const crossScores = drawn([Q, H, T, F], -2, 2, "cross scores");
  const places = new Map([
    ["0 0", [1, 4]],
    ["0 1", [2]],
    ["1 0", [0]],
  ]);
  const answerTokens = tabulate([Q, T, F], ([q, t, f]) =>
    places.get(`${q} ${t}`)?.includes(f!) ? 1 : 0,
  );
  const expected = tabulate([Q, T], ([q, t]) => {
    const where = places.get(`${q} ${t}`);
    if (where === undefined) return 0;
    const shares = range(H).map((h) => {
      const row = range(F).map((f) => Math.exp(at(crossScores, [q!, h, t!, f])));
      return sum(where.map((f) => row[f]!)) / sum(row);
    });
    return Math.log(sum(shares) / H);
  });
  assertNear(answerShares(ops, { crossScores, answerTokens }).data, expected.data, TOLERANCE);
});

test("the marginal likelihood sums over passages", () => {
  const answers = { data: Float32Array.of(-1, -2, -300, -301), shape: [2, 2] }; // the second row underflows in float32
  const passages = {
    data: Float32Array.of(...[0.25, 0.75, 0.5, 0.5].map(Math.log)),
    shape: [2, 2],
  };
  const expected = [
    Math.log(0.25 * Math.exp(-1) + 0.75 * Math.exp(-2)),
    -300 + Math.log(0.5 * (1 + Math.exp(-1))),
  ];
  assertNear(marginalLogLikelihood(ops, { answers, passages }).data, expected, TOLERANCE);
});

test("the marginal likelihood moves passages towards their posterior", () => {
  const answers = drawn([2, 3], -3, 0, "answers");
  const loss = (ops: Ops<NaiveTensor>, logits: NaiveTensor): NaiveTensor =>
    ops.sum(marginalLogLikelihood(ops, { answers, passages: ops.logSoftmax(logits) }), [0]);
  const logits = drawn([2, 3], -1, 1, "logits");
  const [gradient] = centralDifferences(loss, [logits]);
  const prior = ops.softmax(logits);
  const posterior = ops.softmax(ops.add(ops.logSoftmax(logits), answers)); // Bayes
  assertNear(gradient!, ops.subtract(posterior, prior).data, 1e-5);
});

test.run();
