import { test } from "uvu";
import * as assert from "uvu/assert";
import { learnRotation, rotate } from "../../../src/retrieval/codec/opq-rotation.ts";
import { DIMENSION, noise } from "../support.ts";

test("the rotation is orthonormal and spreads the variance evenly over the subspaces", async () => {
  const [dimension, subquantisers] = [16, 4];
  const scales = Float32Array.from({ length: dimension }, (_, d) => 2 ** (-d / 2));
  const rows = noise(2000 * dimension).map((value, i) => value * scales[i % dimension]!);
  const rotation = await learnRotation(rows, dimension, subquantisers);
  for (let a = 0; a < dimension; a++)
    for (let b = 0; b < dimension; b++) {
      let product = 0;
      for (let d = 0; d < dimension; d++)
        product += rotation[a * dimension + d]! * rotation[b * dimension + d]!;
      assert.ok(Math.abs(product - Number(a === b)) < 1e-6);
    }
  const rotated = rotate(rows, rotation, dimension);
  const moment = (a: number, b: number) => {
    let sum = 0;
    for (let row = 0; row < rows.length; row += dimension)
      sum += rotated[row + a]! * rotated[row + b]!;
    return sum / 2000;
  };
  const logs = Array.from({ length: subquantisers }, (_, subspace) =>
    [0, 1, 2, 3].reduce((sum, i) => sum + Math.log2(moment(4 * subspace + i, 4 * subspace + i)), 0),
  );
  assert.ok(Math.max(...logs) - Math.min(...logs) < 2, `${logs}`); // 24 before the rotation
  for (let a = 0; a < dimension; a++)
    for (let b = 0; b < a; b++)
      assert.ok(Math.abs(moment(a, b)) < 1e-5 * Math.sqrt(moment(a, a) * moment(b, b)));
});

test("a rotation keeps products", async () => {
  const rotation = await learnRotation(noise(400 * DIMENSION), DIMENSION, 2);
  const [a, b] = [noise(DIMENSION, 5), noise(DIMENSION, 6)];
  const product = (x: Float32Array, y: Float32Array) =>
    x.reduce((sum, value, d) => sum + value * y[d]!, 0);
  const rotated = product(rotate(a, rotation, DIMENSION), rotate(b, rotation, DIMENSION));
  assert.ok(Math.abs(rotated - product(a, b)) < 1e-6);
});

test.run();
