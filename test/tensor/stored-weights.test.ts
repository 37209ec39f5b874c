/** Weights that a session takes from files. */

import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { openTorch } from "../../src/checkpoints/torch.ts";
import type { WeightFile } from "../../src/checkpoints/weight-file.ts";
import { type TensorToWrite, writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { createRandom } from "../../src/math/random.ts";
import type { Weight } from "../../src/tensor/onnx-weights.ts";
import type { Tensor } from "../../src/tensor/ops.ts";
import { compile } from "../../src/tensor/session.ts";
import { trace } from "../../src/tensor/trace.ts";
import { fixtures, temporaryFolder } from "../checkpoints/support.ts";

const folder = temporaryFolder();
const random = createRandom("stored weights");
const draw = (...shape: number[]): Tensor => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => random.next() - 0.5),
  shape,
});
const MATRIX = draw(24, 16);
const TABLE = draw(24, 16);

/** Products with a matrix, its rows and its parts by heads; rows of a table. */
const GRAPH_INPUTS = {
  x: ["float32", "rows", 16],
  ids: ["int32", "rows"],
  heads: ["float32", 3, "rows", 8],
} as const;
const graph = trace(GRAPH_INPUTS, (ops, { x, ids, heads }) => {
  const matrix = ops.parameter("matrix", [24, 16]);
  const table = ops.parameter("table", [24, 16]);
  const transposed = ops.transpose(table, [1, 0]);
  const byHeads = ops.reshape(matrix, [3, 8, 16]);
  const wide = ops.matmul(heads, byHeads); // [3, rows, 16]
  return {
    wide,
    narrow: ops.matmul(wide, ops.transpose(byHeads, [0, 2, 1])), // [3, rows, 8]
    product: ops.matmul(x, ops.transpose(matrix, [1, 0])),
    part: ops.matmul(x, ops.transpose(ops.slice(matrix, 0, 3, 7), [1, 0])),
    rows: ops.gather(table, ids),
    both: ops.matmul(x, transposed),
    transposed,
  };
});
const inputs = {
  x: draw(5, 16),
  ids: { data: Int32Array.of(0, 23, 7, 7, 1), shape: [5] },
  heads: draw(3, 5, 8),
};

async function outputsOf(weights: ReadonlyMap<string, Weight>): Promise<Record<string, Tensor>> {
  await using session = await compile(graph, { weights });
  return await session.run(inputs);
}

/** The outputs with weights in the file, and with the same values in memory. */
async function compare(file: WeightFile): Promise<void> {
  const stored = new Map<string, Weight>();
  const read = new Map<string, Weight>();
  for (const name of ["matrix", "table"]) {
    stored.set(name, (await file.locate(name))!);
    read.set(name, await file.read(name));
  }
  const [ours, expected] = [await outputsOf(stored), await outputsOf(read)];
  for (const [name, { data, shape }] of Object.entries(expected)) {
    assert.equal(ours[name]!.shape, shape);
    // Products of packed and of mapped weights sum 16 values in another order
    const far = data.findIndex((value, i) => Math.abs(value - ours[name]!.data[i]!) > 1e-6);
    assert.is(far, -1, name);
  }
}

for (const [dtype, tensor] of Object.entries<Partial<TensorToWrite>>({
  F32: {},
  F16: { dtype: "F16" },
  "I8 table": { dtype: "I8", isTable: true }, // int8-products.test.ts has linear layers
}))
  test(`${dtype} weights of a file equal those in memory`, async () => {
    const path = join(folder, `${dtype}.safetensors`);
    const tensors = Object.entries({ matrix: MATRIX, table: TABLE }).map(
      ([name, { data, shape }]) =>
        [name, { shape: shape as number[], values: data as Float32Array, ...tensor }] as const,
    );
    await writeSafetensors(path, new Map(tensors), { dtype: "F32" });
    await using file = await openSafetensors(path);
    await compare(file);
  });

test("a link to a file in another folder is followed, as in the cache of the hub", async () => {
  mkdirSync(join(folder, "snapshot"));
  const link = join(folder, "snapshot", "model.safetensors");
  symlinkSync(join("..", "F32.safetensors"), link);
  await using linked = await openSafetensors(link);
  await using direct = await openSafetensors(join(folder, "F16.safetensors"));
  const weights = new Map<string, Weight>([
    ["matrix", (await linked.locate("matrix"))!],
    ["table", (await direct.locate("table"))!],
  ]);
  const { product } = await outputsOf(weights);
  const naive = (row: number, column: number): number =>
    Array.from(
      { length: 16 },
      (_, i) => inputs.x.data[row * 16 + i]! * MATRIX.data[column * 16 + i]!,
    ).reduce((a, b) => a + b);
  product!.data.forEach((value, i) => {
    assert.ok(Math.abs(value - naive(Math.floor(i / 24), i % 24)) < 1e-5);
  });
});

test("contiguous tensors of a torch file have a place, views with gaps have none", async () => {
  await using file = await openTorch(join(fixtures, "views.bin"));
  let places = 0;
  for (const [name, { shape }] of file.tensors) {
    const place = await file.locate(name).catch(() => undefined);
    if (!place || shape.length === 0 || shape.includes(0)) continue;
    places++;
    const rows = trace({ one: ["float32", 1] }, (ops, { one }) => ({
      values: ops.multiply(ops.parameter(name, shape), one),
    }));
    const one: Tensor = { data: Float32Array.of(1), shape: [1] };
    await using session = await compile(rows, { weights: new Map([[name, place]]) });
    assert.equal((await session.run({ one })).values!.data, await file.read(name), name);
  }
  assert.ok(places > 0);
});

test.run();
