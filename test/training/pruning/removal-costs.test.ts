import { test } from "uvu";
import * as assert from "uvu/assert";
import { createRandom } from "../../../src/math/random.ts";
import { addRemovalCosts, tokenCounts } from "../../../src/training/pruning/train-pruning.ts";

const DIMENSION = 4;
const random = createRandom("removal costs");
const vectors = (rows: number): Float32Array =>
  Float32Array.from({ length: rows * DIMENSION }, () => 2 * random.next() - 1);

/** The sum over question tokens of the best product with a token other than `without`. */
function score(question: Float32Array, keys: Float32Array, without?: number): number {
  let sum = 0;
  for (let i = 0; i < question.length; i += DIMENSION) {
    const products = Array.from({ length: keys.length / DIMENSION }, (_, j) =>
      j === without
        ? -Infinity
        : [0, 1, 2, 3].reduce((s, d) => s + question[i + d]! * keys[j * DIMENSION + d]!, 0),
    );
    sum += Math.max(...products);
  }
  return sum;
}

test("a cost is the score of the passage less the score without the token", () => {
  for (const tokens of [2, 10, 25]) {
    const [question, keys] = [vectors(6), vectors(tokens)];
    const costs = new Float64Array(tokens);
    addRemovalCosts(question, keys, DIMENSION, costs);
    for (const [j, cost] of costs.entries()) {
      const expected = score(question, keys) - score(question, keys, j);
      assert.ok(Math.abs(cost - expected) < 1e-6, `${cost}, expected ${expected}`);
    }
  }
});

test("costs of several questions add up, and an only token has none", () => {
  const [keys, first, second] = [vectors(5), vectors(2), vectors(3)];
  const [apart, together] = [new Float64Array(5), new Float64Array(5)];
  addRemovalCosts(first, keys, DIMENSION, apart);
  addRemovalCosts(second, keys, DIMENSION, apart);
  addRemovalCosts(Float32Array.of(...first, ...second), keys, DIMENSION, together);
  assert.equal(apart, together);
  const alone = new Float64Array(1);
  addRemovalCosts(first, vectors(1), DIMENSION, alone);
  assert.equal([...alone], [0]);
});

test("tokens with a cost and those without count the same in total", () => {
  assert.equal([...tokenCounts(Float64Array.of(3, 0, 1, 0, 0, 0))], [3, 1, 1, 1, 1, 1]);
});

test.run();
