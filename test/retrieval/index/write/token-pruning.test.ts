import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  keptTokenCount,
  openTokenPruner,
} from "../../../../src/retrieval/index/write/token-pruning.ts";
import { DIMENSION, noise } from "../../support.ts";

const row = (rows: Float32Array, i: number) => rows.subarray(i * DIMENSION, (i + 1) * DIMENSION);
const product = (a: Float32Array, b: Float32Array) =>
  a.reduce((sum, value, d) => sum + value * b[d]!, 0);

/** The sum over tokens of the softmax of their products with all tokens, by loops. */
function received(queries: Float32Array, keys: Float32Array): number[] {
  const tokens = keys.length / DIMENSION;
  const sums = new Array<number>(tokens).fill(0);
  for (let i = 0; i < tokens; i++) {
    const powers = sums.map((_, j) => Math.exp(product(row(queries, i), row(keys, j))));
    const total = powers.reduce((sum, power) => sum + power);
    for (const [j, power] of powers.entries()) sums[j]! += power / total;
  }
  return sums;
}

test("keeps the tokens that receive the most attention, in order", async () => {
  await using pruner = await openTokenPruner(DIMENSION);
  for (const [tokens, share] of [
    [1, 0.25],
    [2, 0.25],
    [21, 0.5],
    [40, 0.75],
    [40, 1],
  ] as const) {
    const [queries, keys] = [noise(tokens * DIMENSION, tokens), noise(tokens * DIMENSION, 99)];
    const weights = received(queries, keys);
    const count = keptTokenCount(tokens, share);
    const least = [...weights].sort((a, b) => b - a)[count - 1]!;
    const expected = weights.flatMap((weight, i) => (weight >= least ? [...row(keys, i)] : []));
    assert.equal([...(await pruner.prune(queries, keys, share))], expected);
  }
});

test("keeps a share of a passage, and at least one token", () => {
  const kept = [1, 2, 3, 10].flatMap((tokens) =>
    [0.25, 0.5, 1].map((share) => keptTokenCount(tokens, share)),
  );
  assert.equal(kept, [1, 1, 1, 1, 1, 2, 1, 2, 3, 3, 5, 10]);
});

test.run();
