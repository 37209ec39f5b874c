/**
 * Conformance suite for implementations of `Ops`: each operation against plain loops
 * (support/naive-ops.ts), on tensors of rank 0 to 4. A test calls `conformOps` and then
 * `test.run()`.
 */

import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Ops, Tensor } from "../../src/tensor/ops.ts";
import { assertNear } from "../support/arrays.ts";
import { broadcastable, drawn, permutationOf, shapeOf, whole } from "../support/draws.ts";
import { naiveOps } from "../support/naive-ops.ts";

/** A computation with `Ops`. */
export type Program = <T>(ops: Ops<T>, ...inputs: T[]) => T;

/** The implementation under test: computes `program(ops, ...inputs)`. */
export type Evaluate = (program: Program, inputs: readonly Tensor[]) => Promise<Tensor>;

const TOLERANCE = 2e-6; // float32 sums of some tens of values, in any order

export interface Conformance {
  /** Number of shapes for each property. Default 25. */
  readonly runs?: number;
  /** Whether sums over repeated indices must be bit-identical in every run. Default true. */
  readonly repeatable?: boolean;
}

export function conformOps(name: string, evaluate: Evaluate, options: Conformance = {}): void {
  const { runs = 25, repeatable = true } = options;
  const holds = <Values>(property: fc.IAsyncProperty<Values>): Promise<void> =>
    fc.assert(property, { numRuns: runs, seed: 1 });

  async function agree(program: Program, ...inputs: readonly Tensor[]): Promise<void> {
    const actual = await evaluate(program, inputs);
    const expected = program(naiveOps, ...inputs);
    assert.equal([...actual.shape], [...expected.shape], "shapes");
    assert.is(actual.data.constructor, expected.data.constructor, "type");
    assertNear(actual.data, expected.data, TOLERANCE);
  }

  for (const [title, [program, ...inputs]] of Object.entries(CASES))
    test(`${name}: ${title}`, () => agree(program, ...inputs));

  test(`${name}: elementwise operations broadcast`, () =>
    holds(
      fc.asyncProperty(
        fc.constantFrom(...ELEMENTWISE),
        broadcastable,
        (operation, [left, right]) => {
          const divisor = operation === "divide" ? [1, 4] : [-4, 4];
          return agree(
            (ops, a, b) => ops[operation](a, b),
            drawn(left, -4, 4, "left"),
            drawn(right, divisor[0]!, divisor[1]!, "right"),
          );
        },
      ),
    ));

  test(`${name}: comparisons broadcast, also of equal values`, () =>
    holds(
      fc.asyncProperty(
        fc.constantFrom("greater", "equal"),
        broadcastable,
        async (operation, [left, right]) => {
          for (const type of ["float32", "int32"] as const)
            await agree(
              (ops, a, b) => ops[operation](a, b),
              whole(left, 3, type, "left"),
              whole(right, 3, type, "right"),
            );
        },
      ),
    ));

  test(`${name}: matmul with leading axes that are equal, or absent in b`, () =>
    holds(
      fc.asyncProperty(shapeOf(0, 2), shapeOf(3, 3), fc.boolean(), (leading, [m, k, n], shared) =>
        agree(
          (ops, a, b) => ops.matmul(a, b),
          drawn([...leading, m!, k!]),
          drawn([...(shared ? [] : leading), k!, n!], -1, 1, "b"),
        ),
      ),
    ));

  test(`${name}: transpose by any permutation`, () =>
    holds(
      fc.asyncProperty(
        shapeOf(1, 4).chain((shape) => fc.tuple(fc.constant(shape), permutationOf(shape.length))),
        ([shape, permutation]) => agree((ops, x) => ops.transpose(x, permutation), drawn(shape)),
      ),
    ));

  test(`${name}: reductions over any axes, kept or not`, () =>
    holds(
      fc.asyncProperty(
        fc.constantFrom("sum", "mean", "max"),
        shapeOf(1, 4).chain((shape) =>
          fc.tuple(fc.constant(shape), fc.subarray([...shape.keys()], { minLength: 1 })),
        ),
        fc.record({ keep: fc.boolean(), fromEnd: fc.boolean() }),
        (operation, [shape, positive], { keep, fromEnd }) => {
          const axes = fromEnd ? positive.map((axis) => axis - shape.length) : positive;
          return agree(
            (ops, x) =>
              operation === "max"
                ? ops.max(x, axes[0]!, { keep })
                : ops[operation](x, axes, { keep }),
            drawn(shape),
          );
        },
      ),
    ));

  test(`${name}: concat along any axis, also of empty parts`, () =>
    holds(
      fc.asyncProperty(
        shapeOf(1, 4).chain((shape) => fc.tuple(fc.constant(shape), fc.nat(shape.length - 1))),
        fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 2, maxLength: 3 }),
        ([shape, axis], sizes) =>
          agree(
            (ops, ...parts) => ops.concat(parts, axis),
            ...sizes.map((size, i) => drawn(shape.with(axis, size), -1, 1, i)),
          ),
      ),
    ));

  test(`${name}: split is the inverse of concat`, () =>
    holds(
      fc.asyncProperty(
        shapeOf(1, 4).chain((shape) => fc.tuple(fc.constant(shape), fc.nat(shape.length - 1))),
        fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }),
        async ([shape, axis], sizes) => {
          const size = sizes.reduce((sum, part) => sum + part);
          for (const part of sizes.keys())
            await agree(
              (ops, x) => ops.split(x, axis - shape.length, sizes)[part]!,
              drawn(shape.with(axis, size)),
            );
        },
      ),
    ));

  test(`${name}: slice between positions counted from either end`, () =>
    holds(
      fc.asyncProperty(
        shapeOf(1, 3).chain((shape) => fc.tuple(fc.constant(shape), fc.nat(shape.length - 1))),
        fc.tuple(fc.nat(20), fc.nat(20), fc.boolean(), fc.constantFrom("start", "end", "missing")),
        ([shape, axis], [from, length, startFromEnd, endFrom]) => {
          const size = shape[axis]!;
          const start = from % size;
          const end = start + 1 + (length % (size - start));
          return agree(
            (ops, x) =>
              ops.slice(
                x,
                axis - (endFrom === "missing" ? shape.length : 0),
                startFromEnd ? start - size : start,
                endFrom === "missing" || end === size
                  ? undefined
                  : endFrom === "end"
                    ? end - size
                    : end,
              ),
            drawn(shape),
          );
        },
      ),
    ));

  test(`${name}: gather, oneHot and scatterAdd with repeated indices`, () =>
    holds(
      fc.asyncProperty(
        shapeOf(1, 2),
        shapeOf(0, 2),
        fc.integer({ min: 1, max: 4 }),
        async (places, row, rows) => {
          const indices = whole(places, rows, "int32", "indices");
          await agree((ops, table, i) => ops.gather(table, i), drawn([rows, ...row]), indices);
          await agree(
            (ops, table, i) => ops.gather(table, i),
            whole([rows, ...row], 9, "int32"),
            indices,
          );
          await agree((ops, i) => ops.oneHot(i, rows), indices);
          const updates = drawn([...places, ...row]);
          await agree(
            (ops, t, x, i) => ops.scatterAdd(t, x, i),
            drawn([rows, ...row]),
            updates,
            indices,
          );
        },
      ),
    ));

  test(`${name}: sumBefore`, () =>
    holds(
      fc.asyncProperty(shapeOf(1, 3), (shape) =>
        agree((ops, x) => ops.sumBefore(x), whole(shape, 2, "float32")),
      ),
    ));

  test(`${name}: scatterAdd of many repeated indices is the same in every run`, async () => {
    const updates = drawn([4096, 16]);
    const indices = whole([4096], 5, "int32");
    const table = drawn([5, 16]);
    const run = async () =>
      (await evaluate((ops, t, x, i) => ops.scatterAdd(t, x, i), [table, updates, indices])).data;
    const first = await run();
    // Sums of 800 values
    assertNear(first, naiveOps.scatterAdd(table, updates, indices).data, 1e-5);
    for (let i = 1; i < (repeatable ? 20 : 0); i++) assert.equal(await run(), first);
  });
}

const ELEMENTWISE = ["add", "subtract", "multiply", "divide"] as const;

const x = drawn([2, 3, 4]);
const positive = drawn([2, 3, 4], 0.1, 9);

/** Operations with few variants: a program and its inputs each. */
const CASES: Readonly<Record<string, readonly [Program, ...Tensor[]]>> = {
  constant: [(ops) => ops.constant(x)],
  "constant int32": [(ops) => ops.constant(whole([3, 2], 9, "int32"))],
  "constant of a part of a longer array": [
    (ops) => ops.constant({ data: Float32Array.of(0, 1, 2, 3).subarray(1, 3), shape: [2] }),
  ],
  scalar: [(ops, a) => ops.add(a, ops.scalar(-2.5)), x],
  exp: [(ops, a) => ops.exp(a), x],
  log: [(ops, a) => ops.log(a), positive],
  sqrt: [(ops, a) => ops.sqrt(a), positive],
  sigmoid: [(ops, a) => ops.sigmoid(a), x],
  relu: [(ops, a) => ops.relu(a), x],
  erf: [(ops, a) => ops.erf(a), x],
  geluTanh: [(ops, a) => ops.geluTanh(a), x],
  softmax: [(ops, a) => ops.softmax(a), x],
  "softmax of numbers whose exponentials overflow, and of masked ones": [
    (ops, a) => ops.softmax(a),
    { data: Float32Array.of(1000, 999, -1e9, -1000, -1001, -1e9), shape: [2, 3] },
  ],
  logSoftmax: [(ops, a) => ops.logSoftmax(a), x],
  rmsNorm: [(ops, a, weight) => ops.rmsNorm(a, weight, 1e-6), x, drawn([4])],
  "rmsNorm whose epsilon matters": [(ops, a, weight) => ops.rmsNorm(a, weight, 0.5), x, drawn([4])],
  stopGradient: [(ops, a) => ops.stopGradient(a), x],
  "reshape to known sizes": [(ops, a) => ops.reshape(a, [6, 4]), x],
  "reshape to no axes": [(ops, a) => ops.reshape(a, []), drawn([1, 1])],
  "reshape with -1": [(ops, a) => ops.reshape(a, [4, -1, 2]), x],
  "reshape with the axes of another tensor": [
    (ops, a, b) => ops.reshape(a, ops.shape(b)),
    x,
    drawn([3, 2, 4]),
  ],
  "reshape with -1 and the axes of its input": [
    (ops, a) => {
      const [first, second] = ops.shape(a);
      return ops.reshape(a, [second!, -1, first!]);
    },
    x,
  ],
  "expand to known sizes": [(ops, a) => ops.expand(a, [5, 2, 3]), drawn([2, 1])],
  "expand to the axes of another tensor": [
    (ops, a, b) => ops.expand(a, ops.shape(b)),
    drawn([1, 4]),
    x,
  ],
  "expand int32": [(ops, a) => ops.expand(a, [2, 3]), whole([3], 9, "int32")],
  "slice int32": [(ops, a) => ops.slice(a, -1, 1), whole([2, 3], 9, "int32")],
  "gather by one index": [
    (ops, table) => ops.gather(table, ops.constant({ data: Int32Array.of(2), shape: [] })),
    drawn([3, 4]),
  ],
  "the result of one operation in several others": [
    (ops, a) => {
      const shifted = ops.subtract(a, ops.mean(a, [-1], { keep: true }));
      return ops.divide(
        shifted,
        ops.sqrt(ops.mean(ops.multiply(shifted, shifted), [-1], { keep: true })),
      );
    },
    x,
  ],
};
