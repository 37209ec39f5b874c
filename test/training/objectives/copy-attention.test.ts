/** The copy-attention loss against a naive loop in float64, and where answers occur. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { meanAttention } from "../../../src/decoder/copying.ts";
import {
  copyAttention,
  copyAttentionLogShares,
} from "../../../src/training/objectives/copy-attention.ts";
import { tokenBatch } from "../../../src/training/objectives/token-batch.ts";
import { assertNear } from "../../support/arrays.ts";
import { drawn } from "../../support/draws.ts";
import { at, naiveOps as ops, tabulate } from "../../support/naive-ops.ts";

const range = (length: number): number[] => Array.from({ length }, (_, i) => i);
const sum = (values: readonly number[]): number => values.reduce((total, x) => total + x, 0);

test("the log of the attention on the answer; 0 for tokens that occur nowhere", () => {
  const [Q, H, T, K, m] = [2, 3, 3, 2, 3];
  const crossScores = drawn([Q, H, T, K * m], -2, 2, "cross scores");
  const occurrences = new Map([
    ["0 0", [1, 4]],
    ["0 1", [2]],
    ["1 0", [0]],
  ]);
  const marked = tabulate([Q, T, K, m], ([q, t, k, i]) =>
    occurrences.get(`${q} ${t}`)?.includes(k! * m + i!) ? 1 : 0,
  );
  const expected = tabulate([Q, T], ([q, t]) => {
    const tokens = occurrences.get(`${q} ${t}`);
    if (tokens === undefined) return 0;
    const shares = range(H).map((h) => {
      const row = range(K * m).map((f) => Math.exp(at(crossScores, [q!, h, t!, f])));
      return sum(tokens.map((f) => row[f]!)) / sum(row);
    });
    return Math.log(sum(shares) / H);
  });
  const attention = ops.reshape(meanAttention(ops, crossScores), [Q, T, K, m]);
  const shares = copyAttentionLogShares(ops, { attention, occurrences: marked });
  assertNear(shares.data, expected.data, 1e-6);
});

test("each occurrence of the whole answer is marked", () => {
  const examples = [
    {
      question: [9, 1],
      answer: [5, 6, 1],
      passages: [
        [5, 6, 5, 6, 1],
        [6, 5, 1],
        [7, 5, 6, 1],
      ],
    },
    {
      question: [9, 9, 1],
      answer: [8, 8, 1],
      passages: [
        [8, 8, 8, 1],
        [8, 1],
      ],
    },
    { question: [9, 1], answer: [1], passages: [[5, 1]] },
  ];
  const { occurrences } = copyAttention(1).inputs(tokenBatch(examples));
  const [, T, K, m] = occurrences!.shape as [number, number, number, number];
  const marked = [...occurrences!.data].flatMap((one, i) => (one === 1 ? [i] : []));
  const position = (question: number, t: number, passage: number, token: number): number =>
    ((question * T + t) * K + passage) * m + token;
  assert.equal(marked, [
    ...[position(0, 0, 0, 0), position(0, 0, 0, 2), position(0, 0, 2, 1)],
    ...[position(0, 1, 0, 1), position(0, 1, 0, 3), position(0, 1, 2, 2)],
    ...[position(1, 0, 0, 0), position(1, 0, 0, 1)],
    ...[position(1, 1, 0, 1), position(1, 1, 0, 2)],
  ]);
});

test.run();
