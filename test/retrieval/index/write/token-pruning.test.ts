import { test } from "uvu";
import * as assert from "uvu/assert";
import { noveltyOf } from "../../../../src/model/token-pruning.ts";
import {
  chooserOf,
  keptRows,
  keptTokenCount,
  pickRows,
} from "../../../../src/retrieval/index/write/token-pruning.ts";
import { DIMENSION, noise, rejects } from "../../support.ts";

const row = (keys: Float32Array, i: number) =>
  Array.from(keys.subarray(i * DIMENSION, (i + 1) * DIMENSION));

/** A logit for each token, by a loop over the definition. */
function logits(weights: readonly number[], keys: Float32Array): number[] {
  const novelty = noveltyOf(keys, DIMENSION);
  return Array.from(novelty, (value, token) => {
    const key = row(keys, token);
    const product = key.reduce((sum, x, d) => sum + weights[d]! * x, 0);
    const [length, novel, intercept] = weights.slice(DIMENSION);
    return product + length! * Math.hypot(...key) + novel! * value + intercept!;
  });
}

test("a layer keeps the tokens above its threshold, in order, and at least the best", () => {
  const weights = [...noise(DIMENSION, 1), 0.5, 2, -1];
  for (const [tokens, seed] of [
    [1, 2],
    [2, 3],
    [40, 4],
  ] as const) {
    const keys = noise(tokens * DIMENSION, seed);
    const scores = logits(weights, keys);
    for (const threshold of [-100, 0, 1.5, 100]) {
      const rule = { weights, threshold };
      const above = scores.flatMap((score, i) => (score >= threshold ? [i] : []));
      const expected = above.length > 0 ? above : [scores.indexOf(Math.max(...scores))];
      const header = { dimension: DIMENSION, keepTokens: 0.5, pruning: rule };
      const kept = keptRows(keys, header);
      assert.equal(kept, expected);
      assert.equal(chooserOf(header, kept.length)!(keys), expected);
      assert.equal(
        [...pickRows(keys, kept, DIMENSION)],
        expected.flatMap((i) => row(keys, i)),
      );
    }
  }
});

test("without a layer, a passage keeps its share of the greatest novelty, in order", () => {
  for (const [tokens, share] of [
    [1, 0.25],
    [2, 0.25],
    [21, 0.5],
    [40, 0.75],
    [40, 1],
  ] as const) {
    const keys = noise(tokens * DIMENSION, tokens);
    const novelty = [...noveltyOf(keys, DIMENSION)];
    const count = keptTokenCount(tokens, share);
    const least = [...novelty].sort((a, b) => b - a)[count - 1]!;
    const expected = novelty.flatMap((value, i) => (value >= least ? [i] : []));
    const header = { dimension: DIMENSION, keepTokens: share, pruning: "novelty" } as const;
    assert.equal(keptRows(keys, header), expected);
  }
});

test("keeps a share of a passage, and at least one token", () => {
  const kept = [1, 2, 3, 10].flatMap((tokens) =>
    [0.25, 0.5, 1].map((share) => keptTokenCount(tokens, share)),
  );
  assert.equal(kept, [1, 1, 1, 1, 1, 2, 1, 2, 3, 3, 5, 10]);
});

test("the tokens of an index of an earlier version cannot be chosen again", async () => {
  assert.is(chooserOf({ dimension: DIMENSION }, 3), undefined);
  const old = async () => chooserOf({ dimension: DIMENSION, keepTokens: 0.5 }, 3);
  await rejects(old(), /^index: expected an index that stores how its tokens were chosen, got one/);
});

test.run();
