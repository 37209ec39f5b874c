import { test } from "uvu";
import * as assert from "uvu/assert";
import { kMeans } from "../../../src/retrieval/codec/kmeans.ts";
import type { FindNearest } from "../../../src/retrieval/codec/nearest.ts";
import { noise } from "../support.ts";

const SIZE = 2;

/** By loops; counts the rows. */
function naiveNearest(): { find: FindNearest; rows: () => number } {
  let rows = 0;
  const find: FindNearest = (sample, table, size) => {
    rows += sample.length / size;
    return Uint32Array.from({ length: sample.length / size }, (_, row) => {
      const distances = Array.from({ length: table.length / size }, (_, c) =>
        Array.from({ length: size }, (_, d) => sample[row * size + d]! - table[c * size + d]!)
          .map((difference) => difference ** 2)
          .reduce((sum, square) => sum + square),
      );
      return distances.indexOf(Math.min(...distances));
    });
  };
  return { find, rows: () => rows };
}

test("centroids are the means of all rows, though most iterations see a quarter of them", async () => {
  const CORNERS = [
    [0, 0],
    [100, 0],
    [0, 100],
    [100, 100],
  ] as const;
  const ROWS = 800;
  const near = noise(ROWS * SIZE);
  const cornerOf = (row: number) => CORNERS[Math.floor((4 * row) / ROWS)]!;
  const sample = near.map((value, i) => value + cornerOf(Math.floor(i / SIZE))[i % SIZE]!);
  const { find, rows } = naiveNearest();
  const centroids = await kMeans(sample, SIZE, 4, find, undefined);
  for (const [c] of CORNERS.entries())
    for (let d = 0; d < SIZE; d++) {
      let sum = 0;
      for (let row = (c * ROWS) / 4; row < ((c + 1) * ROWS) / 4; row++)
        sum += sample[row * SIZE + d]!;
      assert.ok(Math.abs(centroids[c * SIZE + d]! - sum / (ROWS / 4)) < 1e-4);
    }
  assert.is(rows(), (6 * ROWS) / 4 + 2 * ROWS);
});

test("a sample that is small for the centroids is seen as a whole", async () => {
  const { find, rows } = naiveNearest();
  await kMeans(noise(100 * SIZE), SIZE, 10, find, undefined);
  assert.is(rows(), 8 * 100);
});

test.run();
