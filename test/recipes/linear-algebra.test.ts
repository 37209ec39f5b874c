/** recipes/reatt-mini/weights: least squares and principal components of data that is known. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { leastSquares } from "../../recipes/reatt-mini/weights/least-squares.ts";
import { orthonormalRows } from "../../recipes/reatt-mini/weights/orthonormal.ts";
import { principalComponents } from "../../recipes/reatt-mini/weights/principal-components.ts";
import { createRandom } from "../../src/math/random.ts";

function randomRows(count: number, columns: number, seed: string) {
  const random = createRandom(seed);
  return {
    data: Float32Array.from({ length: count * columns }, () => random.next() - 0.5),
    columns,
  };
}

test("least squares finds the map that made the data", () => {
  const x = randomRows(200, 5, "x");
  const map = randomRows(3, 5, "map").data;
  const y = new Float32Array(200 * 3);
  for (let row = 0; row < 200; row++)
    for (let out = 0; out < 3; out++)
      for (let i = 0; i < 5; i++) y[row * 3 + out]! += map[out * 5 + i]! * x.data[row * 5 + i]!;
  const found = leastSquares(x, { data: y, columns: 3 }, 1e-9);
  found.forEach((value, i) => {
    assert.ok(Math.abs(value - map[i]!) < 1e-5, `${i}: ${value} for ${map[i]}`);
  });
});

test("principal components are the axes of the data, and orthogonal to its mean", () => {
  const size = 8;
  const axes = orthonormalRows(size, { size, seed: "axes" });
  const deviations = [9, 5, 2, 1]; // of axes 1 to 4; axis 0 has the mean
  const random = createRandom("points");
  const rows = Array.from({ length: 2000 }, () => {
    const row = axes[0]!.map((x) => 20 * x);
    for (const [i, deviation] of deviations.entries()) {
      const along = deviation * (random.next() - 0.5);
      axes[i + 1]!.forEach((x, j) => {
        row[j]! += along * x;
      });
    }
    return row;
  });
  const found = principalComponents(rows, 3, "components");
  for (const [i, component] of found.entries()) {
    const product = component.reduce((sum, x, j) => sum + x * axes[i + 1]![j]!, 0);
    assert.ok(Math.abs(product) > 0.99, `component ${i}: ${product}`);
  }
});

test.run();
