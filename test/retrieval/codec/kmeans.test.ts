import { test } from "uvu";
import * as assert from "uvu/assert";
import { kMeans } from "../../../src/retrieval/codec/kmeans.ts";
import type { OpenNearest } from "../../../src/retrieval/codec/nearest.ts";
import { divideSample, sampleOf } from "../../../src/retrieval/codec/sample.ts";
import { noise } from "../support.ts";

const SIZE = 2;

/** By loops; counts the rows. */
function naiveNearest(): { open: OpenNearest; rows: () => number } {
  let rows = 0;
  const open: OpenNearest = (table, size) => (sample) => {
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
  return { open, rows: () => rows };
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
  const { open, rows } = naiveNearest();
  const centroids = await kMeans(sampleOf(sample, SIZE), SIZE, 4, open, undefined);
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
  const { open, rows } = naiveNearest();
  await kMeans(sampleOf(noise(100 * SIZE), SIZE), SIZE, 10, open, undefined);
  assert.is(rows(), 8 * 100);
});

test("the first quarter of a sample is every fourth row, also when it is taken in pieces", () => {
  const rows = Float32Array.from({ length: 10 * SIZE }, (_, i) => Math.floor(i / SIZE));
  const whole = [...(sampleOf(rows, SIZE).read(0, 10) as Float32Array)];
  assert.equal(
    whole.filter((_, i) => i % SIZE === 0),
    [0, 4, 8, 1, 2, 3, 5, 6, 7, 9],
  );
  const pieces = [0, 3, 4, 9].map((first, i, starts) =>
    divideSample(rows.subarray(first * SIZE, (starts[i + 1] ?? 10) * SIZE), SIZE, first),
  );
  const joined = [...pieces.map(({ part }) => part), ...pieces.map(({ rest }) => rest)];
  assert.equal(
    joined.flatMap((values) => [...values]),
    whole,
  );
});

test.run();
