import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  dequantise,
  dequantiseStored,
  type Int8Matrix,
  quantiseLayer,
  quantiseTable,
  roundAtRandom,
  transpose,
} from "../../src/checkpoints/int8.ts";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { type TensorToWrite, writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { createRandom } from "../../src/math/random.ts";
import { assertNear } from "../support/arrays.ts";
import { refused, safetensorsBytes, temporaryFolder } from "./support.ts";

const file = join(temporaryFolder(), "model.safetensors");

/** 3 rows of very different size; the last is 0. */
const MATRIX = Float32Array.of(100, -25.3, 0.1, -0.01, 0, 0);

/** Below the range of float32, so that 127 rounded scales stay inside it. */
const LARGEST = 2 ** 127;

const matrices = fc
  .tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 9 }))
  .chain(([rows, columns]) =>
    fc.record({
      rows: fc.constant(rows),
      matrix: fc
        .array(fc.float({ noNaN: true, min: -LARGEST, max: LARGEST }), {
          minLength: rows * columns,
          maxLength: rows * columns,
        })
        .map((values) => Float32Array.from(values)),
    }),
  );

async function readAll(): Promise<Map<string, Float32Array>> {
  await using weights = await openSafetensors(file);
  const values = new Map<string, Float32Array>();
  for (const name of weights.tensors.keys()) values.set(name, await weights.read(name));
  return values;
}

test("a case worked by hand", () => {
  const { values, scales } = quantiseLayer(Float32Array.of(253, -1, 11, 1, 3, 127), 2);
  // The largest pairs: 253 + 1 and 127, since the last column has no neighbour
  assert.equal([...scales], [2, 1]);
  // -1 is half a step below 0: ties go up. 11 is 5.5 steps: it goes up too.
  assert.equal([...values], [127, 0, 6, 1, 3, 127]);
});

test("rounding at random, worked by hand: unchanged weights stay, others go to a neighbouring step", () => {
  const before = { values: Int8Array.of(100, 27, -50, 3), scales: Float32Array.of(0.5) };
  const matrix = Float32Array.of(50, 13.5, -25.2, 1.6); // 100, 27, -50.4 and 3.2 steps
  assert.equal(
    roundAtRandom(matrix, before, () => 0.1),
    {
      ...{ values: Int8Array.of(100, 27, -51, 3), scales: before.scales, columnScales: undefined },
    },
  );
  assert.equal([...roundAtRandom(matrix, before, () => 0.9).values], [100, 27, -50, 4]);
});

test("rounding at random keeps the mean, where rounding to the nearest step takes back the change", () => {
  const random = createRandom("rounding");
  const [rows, columns] = [20, 500];
  const start = quantiseLayer(
    Float32Array.from({ length: rows * columns }, () => random.next() - 0.5),
    rows,
  );
  const began = dequantise(start);
  const changed = began.map((weight, i) => weight + 0.1 * start.scales[Math.floor(i / columns)]!);
  const meanSteps = ({ values, scales }: Int8Matrix): number => {
    const steps = values.map((value, i) => value - start.values[i]!);
    assert.ok(steps.every((step) => step === 0 || step === 1));
    assert.equal([...scales], [...start.scales]);
    return steps.reduce((sum, step) => sum + step, 0) / steps.length;
  };
  const rounded = roundAtRandom(changed, start, () => random.next());
  // 10,000 weights: the standard error is sqrt(0.1 * 0.9 / 10,000) = 0.003, 3 % of 0.1
  assertNear([meanSteps(rounded)], [0.1], 0.12);
  const nearest = changed.map((weight, i) =>
    Math.round(weight / start.scales[Math.floor(i / columns)]!),
  );
  assert.ok(nearest.every((step, i) => step === start.values[i]));
});

test("a table keeps the scales of its columns", () => {
  const before = quantiseTable(Float32Array.of(254, 0.127, 100, 0.05), 2);
  const rounded = roundAtRandom(Float32Array.of(253, 0.1255, 99, 0.04), before, () => 0);
  assert.equal(rounded.columnScales, before.columnScales);
  // 253 is 126.5 of 127 steps up to 254, 0.1255 is 125.5 of those up to 0.127: rounded down
  assert.equal([...rounded.values.subarray(0, 2)], [126, 125]);
});

/** Rows below it are stored as 0. */
const SMALLEST = 2 ** -119;

test("rounded at random: the error is below a step, and pairs stay within what sums can have", () => {
  fc.assert(
    fc.property(matrices, matrices, fc.nat(), ({ rows, matrix }, { matrix: moves }, seed) => {
      const random = createRandom(seed);
      const moved = matrix.map(
        (value, i) => value + (moves[i % moves.length]! / LARGEST / 4) * value,
      );
      const rounded = roundAtRandom(moved, quantiseLayer(matrix, rows), () => random.next());
      const again = dequantise(rounded);
      const columns = matrix.length / rows;
      moved.forEach((value, i) => {
        const [row, column] = [Math.floor(i / columns), i % columns];
        // a pair that the limit lowers loses a step more
        const most = 2.01 * rounded.scales[row]! + SMALLEST;
        assert.ok(Math.abs(again[i]! - value) <= most, `${again[i]} for ${value}`);
        if (column % 2 === 1)
          assert.ok(Math.abs(rounded.values[i]!) + Math.abs(rounded.values[i - 1]!) <= 128);
      });
    }),
  );
});

test("the error is at most half a step", () => {
  fc.assert(
    fc.property(matrices, ({ rows, matrix }) => {
      const stored = quantiseLayer(matrix, rows);
      const again = dequantise(stored);
      const columns = matrix.length / rows;
      matrix.forEach((value, i) => {
        const scale = stored.scales[Math.floor(i / columns)]!;
        // The scale and the product are rounded to float32, and rows below 2^-119 become 0.
        const rounding = Math.abs(value) * 2 ** -22 + 2 ** -119;
        assert.ok(Math.abs(again[i]! - value) <= scale / 2 + rounding, `${value}: ${again[i]}`);
      });
    }),
    { numRuns: 500 },
  );
});

test("quantising equals a naive loop, and sums of pairs fit 16 bits with any activation", () => {
  fc.assert(
    fc.property(matrices, ({ rows, matrix }) => {
      const { values, scales } = quantiseLayer(matrix, rows);
      const columns = matrix.length / rows;
      for (let row = 0; row < rows; row++) {
        const own = [...matrix.slice(row * columns, (row + 1) * columns)];
        const pairs = own.map((value, i) =>
          i % 2 ? 0 : Math.abs(value) + Math.abs(own[i + 1] ?? 0),
        );
        const largest = Math.max(...pairs);
        const scale = largest < 127 * 2 ** -126 ? 0 : Math.fround(largest / 127);
        assert.is(scales[row], scale);
        const steps = own.map((value) => (scale === 0 ? 0 : Math.round(value / scale) + 0));
        assert.equal([...values.slice(row * columns, (row + 1) * columns)], steps);
        for (let i = 0; i < columns; i += 2)
          assert.ok((Math.abs(steps[i]!) + Math.abs(steps[i + 1] ?? 0)) * 255 < 2 ** 15);
      }
      const again = dequantise({ values, scales });
      const naive = again.map((_, i) => Math.fround(values[i]! * scales[Math.floor(i / columns)]!));
      assert.equal(again, naive);
    }),
    { numRuns: 500 },
  );
});

test("scales of columns keep small columns: their error is at most half a step, too", () => {
  // A column of thousandths beside one of hundreds, which rows alone would round to 0
  const matrix = Float32Array.of(100, 0.001, -300, 0.003, 50, -0.002);
  assert.is(dequantise(quantiseLayer(matrix, 3))[1], 0);
  const stored = quantiseTable(matrix, 3);
  assert.equal([...stored.columnScales!], [300, Math.fround(0.003)]);
  assert.equal([...stored.values], [127, 127, -127, 127, 32, -127]);
  const again = dequantise(stored);
  matrix.forEach((value, i) => {
    const step = stored.scales[i >> 1]! * stored.columnScales![i % 2]!;
    assert.ok(Math.abs(again[i]! - value) <= step * (0.5 + 2 ** -15), `${value}: ${again[i]}`);
    const rows = Math.fround(stored.scales[i >> 1]! * stored.values[i]!);
    assert.is(again[i], Math.fround(rows * stored.columnScales![i % 2]!));
  });
  assert.equal(dequantise(quantiseTable(new Float32Array(4), 2)), new Float32Array(4));
});

test("a file contains the steps, the scales and the version, and is read as float32", async () => {
  const tensors = new Map<string, TensorToWrite>([
    ["a", { shape: [3, 2], values: MATRIX, dtype: "I8" }],
    ["b", { shape: [2], values: Float32Array.of(1, 2) }],
    [
      "c",
      {
        shape: [1, 1],
        values: async () => Float32Array.of(-5),
        dtype: "I8",
        isTable: true,
      },
    ],
  ]);
  await writeSafetensors(file, tensors, { dtype: "F32" });
  const bytes = readFileSync(file);
  const header = JSON.parse(bytes.toString("utf8", 8, 8 + Number(bytes.readBigUInt64LE())));
  assert.equal(header, {
    __metadata__: { format: "pt", reatt_int8_version: "2" },
    b: { dtype: "F32", shape: [2], data_offsets: [0, 8] },
    a_scale: { dtype: "F32", shape: [3], data_offsets: [8, 20] },
    c_scale: { dtype: "F32", shape: [1], data_offsets: [20, 24] },
    c_column_scale: { dtype: "F32", shape: [1], data_offsets: [24, 28] },
    a: { dtype: "I8", shape: [2, 3], data_offsets: [28, 34] },
    c: { dtype: "I8", shape: [1, 1], data_offsets: [34, 35] },
  });
  // By columns: 100 and -25.3 with 125.3 / 127 a step, 0.1 and -0.01 with 0.11 / 127
  const start = bytes.length - 7;
  assert.equal(
    [...new Int8Array(bytes.buffer, bytes.byteOffset + start, 6)],
    [101, 115, 0, -26, -12, 0],
  );
  const values = await readAll();
  assert.equal([...values.keys()].sort(), ["a", "b", "c"]);
  assert.equal(values.get("a"), dequantise(quantiseLayer(MATRIX, 3)));
  assert.equal([...values.get("b")!, ...values.get("c")!], [1, 2, -5]);
});

test("a value that is not finite is refused", async () => {
  for (const value of [Number.NaN, Number.NEGATIVE_INFINITY]) {
    const tensor: TensorToWrite = { shape: [1, 1], values: Float32Array.of(value), dtype: "I8" };
    const written = writeSafetensors(file, new Map([["a", tensor]]), { dtype: "F32" });
    await refused(written, /model\.safetensors: a: expected finite values, got infinity or NaN/);
  }
});

test("damaged scales, another shape and another version are refused in one line", async () => {
  const scales = (...values: number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);
  const check = async (changes: object, data: Buffer, message: RegExp): Promise<void> => {
    const header = {
      __metadata__: { format: "pt", reatt_int8_version: "2" },
      a_scale: { dtype: "F32", shape: [2], data_offsets: [0, 8] },
      a: { dtype: "I8", shape: [1, 2], data_offsets: [8, 10] }, // [columns, rows]
      ...changes,
    };
    writeFileSync(file, safetensorsBytes(header, Buffer.concat([data, Buffer.of(1, 255)])));
    await refused(readAll(), message);
  };
  const bad = /safetensors: a_scale: expected scales from 0 on, got (NaN|-1|Infinity); the file is/;
  for (const value of [Number.NaN, -1, Number.POSITIVE_INFINITY])
    await check({}, scales(1, value), bad);
  const shape = { a_scale: { dtype: "F32", shape: [1, 2], data_offsets: [0, 8] } };
  await check(shape, scales(1, 1), /: a_scale: expected F32 of shape \[2\], got F32 of .*\[1,2\]/);
  const dtype = { a_scale: { dtype: "F64", shape: [1], data_offsets: [0, 8] } };
  await check(dtype, scales(1, 1), /: a_scale: expected F32 of shape \[2\], got F64/);
  const vector = { a: { dtype: "I8", shape: [2], data_offsets: [8, 10] } };
  await check(
    vector,
    scales(1, 1),
    /: a: expected a matrix, because it has scales, got shape \[2\]/,
  );
  const version = { __metadata__: { format: "pt", reatt_int8_version: "1" } };
  await check(
    version,
    scales(1, 1),
    /model\.safetensors: expected int8 weights of version 2, got version '1'; convert the original/,
  );
  const alone = { a_scale: undefined, b: { dtype: "F32", shape: [2], data_offsets: [0, 8] } };
  await check(alone, scales(1, 1), /: a: expected F32, F16 or BF16, got I8/);
});

test("rows of a stored layer are those of its matrix", () => {
  for (const [rows, columns] of [
    [37, 21],
    [16, 5],
    [1, 2],
  ] as const) {
    const layer = quantiseLayer(
      Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(i)),
      rows,
    );
    const stored = transpose(layer.values, rows);
    const whole = dequantise(layer);
    for (let first = 0; first < rows; first += 3)
      for (let count = 1; first + count <= rows; count += 5) {
        const part = new Float32Array(count * columns);
        dequantiseStored(stored, layer.scales, first, part);
        assert.equal(part, whole.subarray(first * columns, (first + count) * columns));
      }
  }
});

test.run();
