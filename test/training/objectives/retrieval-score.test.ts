/** Retrieval scores against a naive loop in float64. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  headScores,
  passageScores,
  type RetrievalVectors,
} from "../../../src/training/objectives/outputs.ts";
import { assertNear } from "../../support/arrays.ts";
import { drawn } from "../../support/draws.ts";
import { at, type NaiveTensor, naiveOps as ops, tabulate } from "../../support/naive-ops.ts";

const TOLERANCE = 1e-6;
const range = (length: number): number[] => Array.from({ length }, (_, i) => i);
const sum = (values: readonly number[]): number => values.reduce((total, x) => total + x, 0);

const [Q, U, H, n, m, e] = [2, 3, 2, 4, 5, 3];
const queries = drawn([Q, H, n, e], -1, 1, "queries");
const keys = drawn([U, H, m, e], -1, 1, "keys");
const [questionTokens, passageTokens] = [
  [4, 2],
  [5, 1, 3],
];
/** Questions are padded on the left. */
const questionMask = tabulate([Q, n], ([q, i]) => (i! >= n - questionTokens[q!]! ? 1 : 0));
const passageMask = tabulate([U, m], ([u, j]) => (j! < passageTokens[u!]! ? 1 : 0));
const vectors: RetrievalVectors<NaiveTensor> = { queries, questionMask, keys, passageMask };

/** The average over question tokens of the maximum over passage tokens (ReAtt, Eq. 1). */
const expectedHeadScores = tabulate([H, Q, U], ([h, q, u]) => {
  const tokens = range(n).filter((i) => at(questionMask, [q!, i]) === 1);
  const best = tokens.map((i) =>
    Math.max(
      ...range(passageTokens[u!]!).map((j) =>
        sum(range(e).map((k) => at(queries, [q!, h!, i, k]) * at(keys, [u!, h!, j, k]))),
      ),
    ),
  );
  return sum(best) / tokens.length;
});

test("the score of a head averages the best match of each question token", () => {
  const actual = headScores(ops, vectors);
  assert.equal(actual.shape, [H, Q, U]);
  assertNear(actual.data, expectedHeadScores.data, TOLERANCE);
});

test("heads are mixed by softmax(head weights / tau)", () => {
  // At tau 0.5, the shares are 1/4 and 3/4.
  const headWeights = { data: Float32Array.of(0, Math.log(3) / 2), shape: [H] };
  const expected = tabulate([Q, U], ([q, u]) => {
    const [first, second] = [0, 1].map((h) => at(expectedHeadScores, [h, q!, u!]));
    return 0.25 * first! + 0.75 * second!;
  });
  const actual = passageScores(ops, vectors, headWeights, 0.5);
  assert.equal(actual.shape, [Q, U]);
  assertNear(actual.data, expected.data, TOLERANCE);
});

test("without tau, the scores are those of the one head", () => {
  const oneHead = (x: NaiveTensor): NaiveTensor => ops.slice(x, 1, 0, 1);
  const input = { ...vectors, queries: oneHead(queries), keys: oneHead(keys) };
  const expected = tabulate([Q, U], ([q, u]) => at(expectedHeadScores, [0, q!, u!]));
  const actual = passageScores(ops, input, undefined, undefined);
  assertNear(actual.data, expected.data, TOLERANCE);
});

test.run();
