/** Dropout masks: their rate, and what they depend on. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { compile } from "../../../src/tensor/session.ts";
import { trace } from "../../../src/tensor/trace.ts";
import {
  dropoutPools,
  dropoutRows,
  type Sequences,
  tracedDropout,
} from "../../../src/training/objectives/dropout.ts";
import { ONE_THREAD } from "../../support/training.ts";

const WIDTH = 8;
const RATE = 0.25;

/** Two dropouts of a tensor [3, length, 8]. Each has masks of its own. */
const graph = trace({ x: ["float32", 3, "length", WIDTH] }, (tracer, { x }) => {
  const dropout = tracedDropout(tracer, RATE);
  return { first: dropout(x), second: dropout(x) };
});

/** Dropout of ones, padded to `length` on the side that `origin` tells. */
async function masks(
  length: number,
  {
    key = 0,
    names = ["a", "b", "c"],
    origin = 0,
  }: { key?: number; names?: string[]; origin?: number } = {},
): Promise<Record<string, Float32Array>> {
  const sequences: Record<string, Sequences> = { length: { names, length, origin } };
  await using session = await compile(graph, ONE_THREAD);
  const x = { data: new Float32Array(3 * length * WIDTH).fill(1), shape: [3, length, WIDTH] };
  const random = { ...dropoutPools(graph, RATE, [key]), ...dropoutRows(graph, sequences, [key]) };
  const { first, second } = await session.run({ x, ...random });
  return { first: first!.data as Float32Array, second: second!.data as Float32Array };
}

/** The values of row `row` of a mask [3, length, 8] in a range of positions. */
const cut = (
  mask: Float32Array,
  length: number,
  row: number,
  from: number,
  to: number,
): number[] => [...mask.subarray((row * length + from) * WIDTH, (row * length + to) * WIDTH)];

test("drops the given share of values and scales the others up", async () => {
  const { first } = await masks(1000);
  assert.equal(new Set(first), new Set([0, Math.fround(1 / (1 - RATE))]));
  const dropped = first!.filter((x) => x === 0).length / first!.length;
  // 24,000 values: the standard deviation is 0.0028, or a little more because rows may share a mask
  assert.ok(Math.abs(dropped - RATE) < 0.015, `${dropped}`);
});

test("depends on the key and on the call", async () => {
  const [once, again, other] = [await masks(20), await masks(20), await masks(20, { key: 1 })];
  assert.equal(once, again);
  assert.not.equal(once.first, other.first);
  assert.not.equal(once.first, once.second);
});

test("a sequence has the same masks at any padding on the right, and in any row", async () => {
  const [short, long] = [await masks(5), await masks(9, { names: ["c", "x", "a"] })];
  assert.equal(cut(short.second!, 5, 0, 0, 5), cut(long.second!, 9, 2, 0, 5));
  assert.equal(cut(short.second!, 5, 2, 0, 5), cut(long.second!, 9, 0, 0, 5));
  assert.not.equal(cut(short.second!, 5, 0, 0, 5), cut(short.second!, 5, 1, 0, 5));
});

test("a sequence that is padded on the left has the same masks from its end", async () => {
  const [short, long] = [await masks(5, { origin: 5 }), await masks(9, { origin: 9 })];
  assert.equal(cut(short.first!, 5, 1, 0, 5), cut(long.first!, 9, 1, 4, 9));
});

test("a question and its passage have the same masks at any padding of both", async () => {
  const [short, long] = [await masks(7, { origin: 3 }), await masks(12, { origin: 5 })];
  assert.equal(cut(short.first!, 7, 1, 0, 7), cut(long.first!, 12, 1, 2, 9));
});

test("copies of a sequence side by side have masks of their own", async () => {
  const { first } = await masks(20, { names: ["a"] });
  assert.not.equal(cut(first!, 20, 0, 0, 20), cut(first!, 20, 1, 0, 20));
});

test("a rate of 0 adds nothing to the graph", () => {
  const { inputs, nodes } = trace({ x: ["float32", 2] }, (tracer, { x }) => ({
    y: tracedDropout(tracer, 0)(x),
  }));
  assert.is(inputs.size, 1);
  assert.is(nodes.length, 0);
});

test.run();
