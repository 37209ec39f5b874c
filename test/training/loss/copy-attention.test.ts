/** The copy-attention loss against a naive loop in float64. */

import { test } from "uvu";
import { meanAttention } from "../../../src/decoder/copying.ts";
import { copyAttentionLogShares } from "../../../src/training/loss/copy-attention.ts";
import { assertNear } from "../../support/arrays.ts";
import { drawn } from "../../support/draws.ts";
import { at, naiveOps as ops, tabulate } from "../../support/naive-ops.ts";

const range = (length: number): number[] => Array.from({ length }, (_, i) => i);
const sum = (values: readonly number[]): number => values.reduce((total, x) => total + x, 0);

test("the log of the attention on the answer; 0 for tokens that occur nowhere", () => {
  const [Q, H, T, F] = [2, 3, 3, 5];
  const crossScores = drawn([Q, H, T, F], -2, 2, "cross scores");
  const occurrences = new Map([
    ["0 0", [1, 4]],
    ["0 1", [2]],
    ["1 0", [0]],
  ]);
  const copyMask = tabulate([Q, T, F], ([q, t, f]) =>
    occurrences.get(`${q} ${t}`)?.includes(f!) ? 1 : 0,
  );
  const expected = tabulate([Q, T], ([q, t]) => {
    const tokens = occurrences.get(`${q} ${t}`);
    if (tokens === undefined) return 0;
    const shares = range(H).map((h) => {
      const row = range(F).map((f) => Math.exp(at(crossScores, [q!, h, t!, f])));
      return sum(tokens.map((f) => row[f]!)) / sum(row);
    });
    return Math.log(sum(shares) / H);
  });
  const attention = meanAttention(ops, crossScores);
  assertNear(copyAttentionLogShares(ops, { attention, copyMask }).data, expected.data, 1e-6);
});

test.run();
