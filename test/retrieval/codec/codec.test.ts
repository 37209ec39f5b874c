import { readFile } from "node:fs/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { compileKernel, KERNELS } from "../../../scripts/build-wasm.ts";
import {
  type Codebook,
  centroidsOf,
  codeStarts,
  subquantiserCounts,
} from "../../../src/retrieval/codec/codec.ts";
import { openKeyDecoder } from "../../../src/retrieval/codec/key-decoder.ts";
import { openKeyEncoder } from "../../../src/retrieval/codec/key-encoder.ts";
import { kMeans } from "../../../src/retrieval/codec/kmeans.ts";
import { type OpenNearest, openNearestFinder } from "../../../src/retrieval/codec/nearest.ts";
import { openCodewordSearch } from "../../../src/retrieval/codec/nearest-codeword.ts";
import { rotate } from "../../../src/retrieval/codec/opq-rotation.ts";
import { sampleOf } from "../../../src/retrieval/codec/sample.ts";
import { trainCodebook } from "../../../src/retrieval/codec/train-codebook.ts";
import { DIMENSION, noise } from "../support.ts";

test("the nearest row equals that of a naive loop", async () => {
  const findCodeword = openCodewordSearch();
  for (const [size, count] of [
    [1, 256],
    [2, 256],
    [4, 1],
    [8, 33],
    [17, 256],
  ] as const)
    await compareNearest(findCodeword, size, count);
  for (const [size, count] of [
    [4, 1],
    [8, 16],
    [17, 33],
    [130, 100],
    [256, 300],
  ] as const) {
    await using finder = await openNearestFinder(size);
    await compareNearest(finder.open, size, count);
  }
  // more than one batch of the kernel
  await compareNearest(findCodeword, 2, 16, 2 ** 19 + 3);
});

async function compareNearest(
  open: OpenNearest,
  size: number,
  count: number,
  rowCount: number = 500,
): Promise<void> {
  const [rows, table] = [noise(rowCount * size), noise(count * size, 7)];
  const found = await open(table, size)(rows);
  assert.is(found.length, rowCount);
  const distance = (row: number, c: number) => {
    let sum = 0;
    for (let d = 0; d < size; d++) sum += (rows[row * size + d]! - table[c * size + d]!) ** 2;
    return sum;
  };
  for (let row = 0; row < rowCount; row++) {
    let least = Infinity;
    for (let c = 0; c < count; c++) least = Math.min(least, distance(row, c));
    assert.ok(found[row]! < count && distance(row, found[row]!) <= least + 1e-5);
  }
}

test("the nearest row does not depend on the other rows", async () => {
  await using finder = await openNearestFinder(64);
  const [rows, table] = [noise(300 * 64), noise(50 * 64, 7)];
  rows.set([1000], 200 * 64); // far beyond the table
  const find = finder.open(table, 64);
  const together = await find(rows);
  assert.equal(await find(rows.subarray(0, 64)), together.slice(0, 1));
  assert.equal(await find(rows.subarray(200 * 64)), together.slice(200));
});

test("codewords are found with values of any size", async () => {
  const findCodeword = openCodewordSearch();
  for (const scale of [0, 1e-20, 1e15]) {
    const table = Float32Array.from({ length: 256 }, (_, i) => scale * (i - 100));
    const rows = Float32Array.of(-1000 * scale, 7.3 * scale, 1000 * scale);
    const expected = scale === 0 ? [0, 0, 0] : [0, 107, 255];
    assert.equal([...(await findCodeword(table, 1)(rows))], expected);
  }
});

for (const kernel of KERNELS)
  test(`the compiled kernel matches its source: ${kernel.source}`, async () => {
    assert.is(await readFile(kernel.compiled, "utf8"), await compileKernel(kernel));
  });

test("k-means finds separate clusters", async () => {
  const heaps = [0, 10, 20, 30];
  const sample = noise(400).map((value, i) => heaps[Math.floor(i / 100)]! + 0.01 * value);
  const centroids = [
    ...(await kMeans(sampleOf(sample, 1), 1, 4, openCodewordSearch(), undefined)),
  ].sort((a, b) => a - b);
  for (const [i, heap] of heaps.entries())
    assert.ok(Math.abs(centroids[i]! - heap) < 0.01, String(centroids));
});

test("a code holds centroid, ratio and residual; more bits decrease the error", async () => {
  // Half of the keys are near a few points, the others anywhere.
  const keys = noise(4000 * DIMENSION).map((value, i) =>
    (i / DIMENSION) % 8 < 4 ? 0.1 * value + Math.sign(value) : 2 * value,
  );
  const errors = [];
  for (const bits of [1, 2, 4, 8] as const) {
    const codebook = await trainCodebook(sampleOf(keys, DIMENSION), DIMENSION, 16, bits);
    const { long, short } = subquantiserCounts(DIMENSION, bits);
    assert.is(long + short, 2 * bits); // of 8 dimensions
    await using encoder = await openKeyEncoder(codebook);
    const codes = await encoder.encode(keys);
    const starts = codeStarts(codes, codebook);
    assert.is(starts.length, 4001);
    assert.is(starts.at(-1), codes.length);
    const centroids = centroidsOf(codes, codebook);
    for (const [token, centroid] of centroids.entries()) {
      assert.is(centroid, codes[starts[token]!]! + 256 * codes[starts[token]! + 1]!);
      assert.is(starts[token + 1]! - starts[token]!, 3 + codebook.subquantisers[centroid]!);
    }
    const decoded = openKeyDecoder(codebook)(codes);
    assert.equal(decoded.subarray(0, 50 * DIMENSION), decodeNaively(codes, codebook, 50));
    const rotated = rotate(keys, codebook.rotation, DIMENSION);
    errors.push(rotated.reduce((sum, key, i) => sum + (key - decoded[i]!) ** 2, 0) / keys.length);
    const length = (rows: Float32Array, row: number) =>
      Math.hypot(...rows.subarray(row * DIMENSION, (row + 1) * DIMENSION));
    for (let row = 0; row < 4000; row += 7)
      assert.ok(Math.abs(length(decoded, row) / length(keys, row) - 1) < 0.1);
  }
  for (let i = 1; i < 4; i++)
    assert.ok(errors[i]! < 0.6 * errors[i - 1]!, `squared errors ${errors}`);
});

/** Decodes key by key and subspace by subspace. */
function decodeNaively(codes: Uint8Array, codebook: Codebook, tokens: number): Float32Array {
  const keys = [];
  let at = 0;
  for (let token = 0; token < tokens; token++) {
    const centroid = codes[at]! + 256 * codes[at + 1]!;
    const ratio = codebook.ratios[codes[at + 2]!]!;
    at += 3;
    const subquantisers = codebook.subquantisers[centroid]!;
    let table = [...codebook.codewords.get(subquantisers)!];
    const key = [...codebook.centroids.subarray(centroid * DIMENSION, (centroid + 1) * DIMENSION)];
    let d = 0;
    for (let subspace = 0; subspace < subquantisers; subspace++, at++) {
      const width =
        Math.floor(((subspace + 1) * DIMENSION) / subquantisers) -
        Math.floor((subspace * DIMENSION) / subquantisers);
      for (const value of table.slice(codes[at]! * width, (codes[at]! + 1) * width))
        key[d++]! += value;
      table = table.slice(256 * width);
    }
    keys.push(...key.map((value) => ratio * value));
  }
  return Float32Array.from(keys);
}

test.run();
