import { test } from "uvu";
import * as assert from "uvu/assert";
import { createRandom } from "../../src/math/random.ts";
import {
  noveltyOf,
  PRUNING_SHARES,
  pruningFeatures,
  pruningRule,
} from "../../src/model/token-pruning.ts";

const DIMENSION = 5;
const random = createRandom("token pruning");
const randomKeys = (tokens: number): Float32Array =>
  Float32Array.from({ length: tokens * DIMENSION }, () => 4 * random.next() - 2);
const row = (keys: Float32Array, token: number): number[] => [
  ...keys.subarray(token * DIMENSION, (token + 1) * DIMENSION),
];
const distance = (a: readonly number[], b: readonly number[]): number =>
  Math.hypot(...a.map((value, d) => value - b[d]!));

test("novelty is the distance to the nearest earlier key", () => {
  const keys = randomKeys(12);
  keys.set(keys.subarray(2 * DIMENSION, 3 * DIMENSION), 7 * DIMENSION); // token 7 repeats token 2
  const zero = new Array<number>(DIMENSION).fill(0);
  const novelty = noveltyOf(keys, DIMENSION);
  for (const [j, value] of novelty.entries()) {
    const earlier = Array.from({ length: j }, (_, i) => row(keys, i));
    const near = Math.min(
      ...(j === 0 ? [zero] : earlier).map((key) => distance(key, row(keys, j))),
    );
    assert.ok(Math.abs(value - near) < 1e-3, `${value}, expected ${near}`); // a root of rounding
  }
  assert.ok(novelty[7]! < 1e-3 && novelty[2]! > 0.1);
});

test("novelty bounds what the removal of a token costs", () => {
  const keys = randomKeys(20);
  const novelty = noveltyOf(keys, DIMENSION);
  for (let trial = 0; trial < 50; trial++) {
    const question = row(randomKeys(1), 0);
    const length = Math.hypot(...question);
    const products = Array.from(novelty, (_, j) =>
      row(keys, j).reduce((sum, value, d) => sum + value * question[d]!, 0),
    );
    for (let j = 1; j < products.length; j++) {
      const others = products.filter((_, i) => i !== j);
      const cost = Math.max(...products) - Math.max(...others);
      assert.ok(cost <= length * novelty[j]! + 1e-4);
    }
  }
});

test("features are the key, its length, its novelty and 1", () => {
  const keys = Float32Array.of(3, 4, 0, 0, 0, 3, 0, 0, 0, 0);
  assert.equal(
    pruningFeatures(keys, DIMENSION).map((features) => [...features]),
    [
      [3, 4, 0, 0, 0, 5, 5, 1],
      [3, 0, 0, 0, 0, 3, 4, 1],
    ],
  );
});

test("the threshold of a share lies between those of its neighbours", () => {
  const thresholds = PRUNING_SHARES.map((share) => -10 * share);
  const layer = { weights: [1], thresholds };
  for (const share of [0.25, 0.35, 0.5, 0.52, 0.7777, 0.999]) {
    const rule = pruningRule(layer, share);
    assert.ok(rule !== "novelty" && Math.abs(rule.threshold + 10 * share) < 1e-9, `${share}`);
  }
  assert.is(pruningRule(undefined, 0.5), "novelty");
});

test.run();
