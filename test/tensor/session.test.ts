/**
 * Traced graphs with onnxruntime: every operation, known and named sizes, fixed and fed parameters.
 */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Tensor } from "../../src/tensor/ops.ts";
import { compile } from "../../src/tensor/session.ts";
import { trace } from "../../src/tensor/trace.ts";
import { naiveOps } from "../support/naive-ops.ts";
import { conformOps } from "./conform-ops.ts";
import { knownSize, namedSize, onOnnxruntime } from "./evaluate.ts";

conformOps("sizes known", onOnnxruntime(knownSize, { threads: 1 }));
conformOps("sizes named", onOnnxruntime(namedSize, { threads: 1 }));

test("one graph serves several sizes", async () => {
  const graph = trace({ x: ["float32", "batch", "length", 2] }, (ops, { x }) => ({
    flat: ops.reshape(x, ["batch", -1]),
    swapped: ops.transpose(x, [1, 0, 2]),
    ones: ops.expand(ops.scalar(1), ["length", "batch"]),
  }));
  await using session = await compile(graph);
  for (const [batch, length] of [
    [1, 1],
    [3, 2],
    [2, 5],
  ] as const) {
    const data = Float32Array.from({ length: batch * length * 2 }, (_, i) => i);
    const x = { data, shape: [batch, length, 2] };
    const { flat, swapped, ones } = await session.run<"flat" | "swapped" | "ones">({ x });
    assert.equal(flat.shape, [batch, 2 * length]);
    assert.equal(swapped, naiveOps.transpose(x, [1, 0, 2]));
    assert.equal(ones.shape, [length, batch]);
  }
});

test("only what is fetched is computed and returned", async () => {
  const graph = trace({ x: ["float32", 1] }, (ops, { x }) => ({ twice: ops.add(x, x), same: x }));
  await using session = await compile(graph);
  const x = { data: Float32Array.of(3), shape: [1] };
  assert.equal(await session.run({ x }, ["twice"]), {
    twice: { data: Float32Array.of(6), shape: [1] },
  });
  assert.equal(Object.keys(await session.run({ x })), ["twice", "same"]);
});

test("an output can use given memory, also that of an input", async () => {
  const graph = trace({ x: ["float32", "rows", 2] }, (ops, { x }) => ({
    twice: ops.add(x, x),
    same: ops.multiply(x, ops.scalar(1)),
  }));
  await using session = await compile(graph);
  const x = { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] };
  const target = { data: new Float32Array(4), shape: [2, 2] };
  const results = await session.run({ x }, ["twice", "same"], { twice: target });
  assert.is(results.twice, target);
  assert.equal(target.data, Float32Array.of(2, 4, 6, 8));
  assert.equal(results.same!.data, x.data);
  await session.run({ x }, ["twice"], { twice: x });
  assert.equal(x.data, Float32Array.of(2, 4, 6, 8));
});

const mixed = trace({ x: ["float32", "rows", 2] }, (ops, { x }) => {
  ops.multiply(x, ops.parameter("unused", [2])); // no output needs it
  return { y: ops.add(ops.matmul(x, ops.parameter("weight", [2, 3])), ops.parameter("bias", [3])) };
});
const x: Tensor = { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] };
const weight: Tensor = { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] };
const bias: Tensor = { data: Float32Array.of(10, 20, 30), shape: [3] };
const y = Float32Array.of(19, 32, 45, 29, 46, 63);

test("a parameter may be fixed, fed in each run, or part of a longer array", async () => {
  assert.equal([...mixed.parameters.keys()], ["weight", "bias"]);
  const part = Float32Array.of(0, 0, ...bias.data, 0).subarray(2, 5);
  for (const [weights, fed] of [
    [{ weight, bias }, {}],
    [{ weight }, { bias }],
    [{ weight, bias: { data: part } }, {}],
    [{}, { weight, bias }],
  ] as const) {
    const fixed = new Map(
      Object.entries(weights).map(([name, { data }]) => [name, data as Float32Array]),
    );
    await using session = await compile(mixed, { weights: fixed });
    assert.equal((await session.run({ x, ...fed })).y!.data, y);
  }
});

test("a session copies its fixed weights: later changes of the array have no effect", async () => {
  const weights = new Map(
    [weight, bias].map(({ data }, i) => [["weight", "bias"][i]!, Float32Array.from(data)]),
  );
  await using session = await compile(mixed, { weights });
  for (const array of weights.values()) array.fill(0);
  assert.equal((await session.run({ x })).y!.data, y);
});

test.run();
