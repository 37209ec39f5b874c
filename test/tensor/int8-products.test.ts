/** Products and lookups with 8-bit weights of a file, against sums of integers. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { dequantise, quantiseLayer, quantiseTable } from "../../src/checkpoints/int8.ts";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { createRandom } from "../../src/math/random.ts";
import type { Tensor } from "../../src/tensor/ops.ts";
import { compile } from "../../src/tensor/session.ts";
import { trace } from "../../src/tensor/trace.ts";
import { temporaryFolder } from "../checkpoints/support.ts";

const folder = temporaryFolder();
const random = createRandom("int8 products");
const draw = (length: number): Float32Array =>
  Float32Array.from({ length }, () => random.next() - 0.5);

const IN = 40;
const OUT = 24;

/** x W^T, x V^T, rows 3 to 5 of W times x, and rows of a table, all from one file. */
const graph = trace(
  { x: ["float32", "batch", "length", IN], ids: ["int32", "count"] },
  (ops, input) => {
    const layer = ops.parameter("layer", [OUT, IN]);
    const other = ops.parameter("other", [OUT, IN]);
    const table = ops.parameter("table", [OUT, IN]);
    const product = (weight: typeof layer) => ops.matmul(input.x, ops.transpose(weight, [1, 0]));
    return {
      product: product(layer),
      other: product(other),
      part: product(ops.slice(layer, 0, 3, 5)),
      rows: ops.gather(table, input.ids),
      logits: product(table),
    };
  },
);

interface Matrices {
  readonly layer: Float32Array;
  readonly other: Float32Array;
  readonly table: Float32Array;
}

/** Runs the graph with x [batch, length, IN] and int8 matrices. */
async function run(matrices: Matrices, x: Float32Array, length: number) {
  const path = join(folder, "model.safetensors");
  const shape = [OUT, IN];
  const tensors = Object.entries(matrices).map(
    ([name, values]) =>
      [name, { shape, values, dtype: "I8", isTable: name === "table" } as const] as const,
  );
  await writeSafetensors(path, new Map(tensors), { dtype: "F32" });
  await using file = await openSafetensors(path);
  const names = Object.keys(matrices);
  const weights = new Map(
    await Promise.all(names.map(async (name) => [name, (await file.locate(name))!] as const)),
  );
  await using session = await compile(graph, { weights });
  const ids: Tensor = { data: Int32Array.of(5, 0, 5), shape: [3] };
  const batch = x.length / length / IN;
  return await session.run({ x: { data: x, shape: [batch, length, IN] }, ids });
}

/** The formula of onnx-weights.ts: sums of integers, then scales. */
function naiveProduct(x: Float32Array, matrix: Float32Array): number[] {
  const { values, scales } = quantiseLayer(matrix, OUT);
  const result: number[] = [];
  for (let start = 0; start < x.length; start += IN) {
    const row = x.subarray(start, start + IN);
    const scale = Math.fround(Math.max(...row.map(Math.abs)) * Math.fround(1 / 127));
    const integers = Array.from(row, (value) => (scale === 0 ? 0 : Math.round(value / scale)));
    for (let n = 0; n < OUT; n++) {
      const sum = integers.reduce((sum, integer, k) => sum + integer * values[n * IN + k]!, 0);
      result.push(scale * scales[n]! * sum);
    }
  }
  return result;
}

/** Scales and their products are rounded to float32; sums of integers are exact. */
function near(got: Tensor, expected: ArrayLike<number>, tolerance = 1e-6): void {
  assert.is(got.data.length, expected.length);
  got.data.forEach((value, i) => {
    assert.ok(Math.abs(value - expected[i]!) <= tolerance, `${i}: ${value}, not ${expected[i]}`);
  });
}

const matrices = { layer: draw(OUT * IN), other: draw(OUT * IN), table: draw(OUT * IN) };
const x = draw(2 * 3 * IN);
x.fill(0, IN, 2 * IN); // a token that is 0

test("a product equals a naive computation with integers", async () => {
  const outputs = await run(matrices, x, 3);
  assert.equal(outputs.product!.shape, [2, 3, OUT]);
  near(outputs.product!, naiveProduct(x, matrices.layer));
  near(outputs.other!, naiveProduct(x, matrices.other));
});

test("a product is near that of float32", async () => {
  const { product } = await run(matrices, x, 3);
  const exact = Array.from(product!.data, (_, i) => {
    const [row, n] = [Math.floor(i / OUT), i % OUT];
    return matrices.layer
      .subarray(n * IN, (n + 1) * IN)
      .reduce((sum, weight, k) => sum + weight * x[row * IN + k]!, 0);
  });
  // 40 products with errors of at most half a step: 0.5 / 127 of x, 1 / 127 of W
  near(product!, exact, 40 * 0.5 * (0.25 / 127 + 0.5 / 127));
});

test("a row has the same result in any batch", async () => {
  const whole = await run(matrices, x, 3);
  const last = await run(matrices, x.slice(5 * IN), 1);
  assert.equal(last.product!.data, whole.product!.data.slice(5 * OUT));
});

test("sums of the largest values are exact: no processor may add pairs with saturation", async () => {
  const ones = new Float32Array(OUT * IN).fill(1);
  const { product } = await run({ ...matrices, layer: ones }, ones.subarray(0, IN), 1);
  near(product!, naiveProduct(ones.subarray(0, IN), ones), 1e-5);
});

test("a table and a part of a matrix are used as float32", async () => {
  const outputs = await run(matrices, x, 3);
  const table = dequantise(quantiseTable(matrices.table, OUT));
  const rows = [5, 0, 5].flatMap((id) => [...table.subarray(id * IN, (id + 1) * IN)]);
  assert.equal([...outputs.rows!.data], rows);
  const dot = (row: number, matrix: Float32Array, n: number): number =>
    matrix
      .subarray(n * IN, (n + 1) * IN)
      .reduce((sum, weight, k) => sum + weight * x[row * IN + k]!, 0);
  near(
    outputs.logits!,
    Array.from(outputs.logits!.data, (_, i) => dot(Math.floor(i / OUT), table, i % OUT)),
    1e-5,
  );
  const layer = dequantise(quantiseLayer(matrices.layer, OUT));
  near(
    outputs.part!,
    Array.from(outputs.part!.data, (_, i) => dot(Math.floor(i / 2), layer, 3 + (i % 2))),
    1e-5,
  );
});

test.run();
