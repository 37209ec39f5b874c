/**
 * Conformance suite for gradients: the gradient of each operation of `Ops` against central
 * differences in float64, on tensors of rank 0 to 4. A test calls `conformGradients` and then
 * `test.run()`.
 */

import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Ops, Tensor } from "../../src/tensor/ops.ts";
import { assertNear } from "../support/arrays.ts";
import { centralDifferences } from "../support/central-differences.ts";
import { broadcastable, drawn, permutationOf, shapeOf, whole } from "../support/draws.ts";
import { naiveOps } from "../support/naive-ops.ts";
import type { Program } from "./conform-ops.ts";

/** The gradients of the scalar `program(ops, ...inputs)` with respect to each float32 input. */
export type Differentiate = (program: Program, inputs: readonly Tensor[]) => Promise<Tensor[]>;

/** The size of averaged or sliced axes. Their gradients need it even if other axes have names. */
export const KNOWN_SIZE = 5;

// Float32 against float64: gradients are sums of some tens of values around 1
const TOLERANCE = 2e-6;

export function conformGradients(name: string, differentiate: Differentiate): void {
  async function agree(program: Program, ...inputs: readonly Tensor[]): Promise<void> {
    const weights = drawn(program(naiveOps, ...inputs).shape, 0.5, 2, "weights");
    const loss: Program = (ops, ...all) =>
      total(ops, ops.multiply(program(ops, ...all.slice(1)), all[0]!));
    const actual = await differentiate(loss, [weights, ...inputs]);
    const differences = centralDifferences(loss, [weights, ...inputs]);
    const floats = [weights, ...inputs].filter(({ data }) => data instanceof Float32Array);
    assert.equal(
      actual.map(({ shape }) => [...shape]),
      floats.map(({ shape }) => [...shape]),
      "a gradient has the shape of its input",
    );
    const expected = differences.flatMap((gradient) => (gradient ? [...gradient] : []));
    // The 1 is for gradients of 0: differences are never exactly 0.
    assertNear([...actual.flatMap(({ data }) => [...data]), 1], [...expected, 1], TOLERANCE);
  }

  const holds = <Values>(property: fc.IAsyncProperty<Values>): Promise<void> =>
    fc.assert(property, { numRuns: 15, seed: 1 });

  for (const [title, [program, ...inputs]] of Object.entries(CASES))
    test(`${name}: ${title}`, () => agree(program, ...inputs));

  for (const [title, { program, inputs, gradients }] of Object.entries(WORKED))
    test(`${name}: ${title}`, async () => {
      const actual = await differentiate(
        (ops, ...given) => total(ops, program(ops, ...given)),
        inputs.map((numbers) => ({ data: Float32Array.from(numbers), shape: [numbers.length] })),
      );
      for (const [i, gradient] of gradients.entries())
        assertNear(actual[i]!.data, gradient, 1e-6, `gradient ${i}`);
    });

  test(`${name}: elementwise operations broadcast`, () =>
    holds(
      fc.asyncProperty(
        fc.constantFrom("add", "subtract", "multiply", "divide"),
        broadcastable,
        (operation, [left, right]) =>
          agree(
            (ops, a, b) => ops[operation](a, b),
            drawn(left, -4, 4, "left"),
            drawn(right, 1, 4, "right"),
          ),
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
        shapeOf(1, 3).chain((shape) => fc.tuple(fc.constant(shape), permutationOf(shape.length))),
        ([shape, permutation]) => agree((ops, x) => ops.transpose(x, permutation), drawn(shape)),
      ),
    ));

  test(`${name}: expand of any axes, and to more axes`, () =>
    holds(
      fc.asyncProperty(broadcastable, ([from, other]) => {
        const { shape } = naiveOps.add(drawn(from), drawn(other));
        return agree((ops, x, y) => ops.expand(x, ops.shape(y)), drawn(from), drawn(shape));
      }),
    ));

  test(`${name}: sums and maxima over any axes, kept or not`, () =>
    holds(
      fc.asyncProperty(someAxes(shapeOf(1, 3)), fc.boolean(), async ([shape, axes], keep) => {
        await agree((ops, x) => ops.sum(x, axes, { keep }), drawn(shape));
        await agree((ops, x) => ops.max(x, axes[0]!, { keep }), drawn(shape));
      }),
    ));

  test(`${name}: means over any axes, kept or not`, () =>
    holds(
      fc.asyncProperty(someAxes(shapeOf(1, 3)), fc.boolean(), ([shape, axes], keep) =>
        agree(
          (ops, x) => ops.mean(x, axes, { keep }),
          drawn(shape.map((size, axis) => (axes.includes(axis) ? KNOWN_SIZE : size))),
        ),
      ),
    ));

  test(`${name}: concat along any axis, also of one tensor twice`, () =>
    holds(
      fc.asyncProperty(axisOf(shapeOf(1, 3)), shapeOf(2, 3), ([shape, axis], sizes) =>
        agree(
          (ops, ...parts) => ops.concat([...parts, parts[0]!], axis),
          ...sizes.map((size, i) => drawn(shape.with(axis, size), -1, 1, i)),
        ),
      ),
    ));

  test(`${name}: split along any axis with unused parts`, () =>
    holds(
      fc.asyncProperty(
        axisOf(shapeOf(1, 3)),
        shapeOf(1, 3),
        fc.nat(),
        ([shape, axis], sizes, unused) =>
          agree(
            (ops, x) => {
              const parts = ops.split(x, axis, sizes);
              const used = parts.filter(
                (_, i) => parts.length === 1 || i !== unused % parts.length,
              );
              return ops.concat(used.toReversed(), axis);
            },
            drawn(
              shape.with(
                axis,
                sizes.reduce((sum, size) => sum + size),
              ),
            ),
          ),
      ),
    ));

  test(`${name}: slice between positions counted from either end`, () =>
    holds(
      fc.asyncProperty(
        axisOf(shapeOf(1, 3)),
        fc.nat(KNOWN_SIZE - 1),
        fc.integer({ min: 1, max: KNOWN_SIZE }),
        fc.boolean(),
        ([shape, axis], from, length, fromEnd) => {
          const to = Math.min(from + length, KNOWN_SIZE);
          return agree(
            (ops, x) =>
              fromEnd
                ? ops.slice(
                    x,
                    axis,
                    from - KNOWN_SIZE,
                    to === KNOWN_SIZE ? undefined : to - KNOWN_SIZE,
                  )
                : ops.slice(x, axis, from, to),
            drawn(shape.with(axis, KNOWN_SIZE)),
          );
        },
      ),
    ));

  test(`${name}: gather and scatterAdd with repeated indices`, () =>
    holds(
      fc.asyncProperty(
        shapeOf(1, 2),
        shapeOf(0, 2),
        fc.integer({ min: 1, max: 4 }),
        async (places, row, rows) => {
          const indices = whole(places, rows, "int32", "indices");
          await agree((ops, table, i) => ops.gather(table, i), drawn([rows, ...row]), indices);
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
}

function total<T>(ops: Ops<T>, x: T): T {
  const axes = ops.shape(x).map((_, axis) => axis);
  return axes.length === 0 ? x : ops.sum(x, axes);
}

/** A shape and one of its axes. */
const axisOf = (shapes: fc.Arbitrary<number[]>): fc.Arbitrary<[number[], number]> =>
  shapes.chain((shape) => fc.tuple(fc.constant(shape), fc.nat(shape.length - 1)));

/** A shape and some of its axes. */
const someAxes = (shapes: fc.Arbitrary<number[]>): fc.Arbitrary<[number[], number[]]> =>
  shapes.chain((shape) =>
    fc.tuple(fc.constant(shape), fc.shuffledSubarray([...shape.keys()], { minLength: 1 })),
  );

const x = drawn([2, 3, KNOWN_SIZE]);
const positive = drawn([2, 3, KNOWN_SIZE], 0.1, 9);

/** Programs with few variants, and their inputs. */
const CASES: Readonly<Record<string, readonly [Program, ...Tensor[]]>> = {
  exp: [(ops, a) => ops.exp(a), x],
  log: [(ops, a) => ops.log(a), drawn([2, 3], 0.5, 9)],
  sqrt: [(ops, a) => ops.sqrt(a), drawn([2, 3], 0.5, 9)],
  sigmoid: [(ops, a) => ops.sigmoid(a), x],
  relu: [(ops, a) => ops.relu(a), x],
  erf: [(ops, a) => ops.erf(a), x],
  geluTanh: [(ops, a) => ops.geluTanh(a), x],
  softmax: [(ops, a) => ops.softmax(a), x],
  logSoftmax: [(ops, a) => ops.logSoftmax(a), x],
  "softmax and logSoftmax over masked numbers": [
    (ops, a) => {
      const hidden = ops.constant({ data: Float32Array.of(0, 1, 0, 0, 1), shape: [KNOWN_SIZE] });
      const masked = ops.add(a, ops.multiply(hidden, ops.scalar(-1e9)));
      const seen = ops.subtract(ops.scalar(1), hidden);
      return ops.add(ops.softmax(masked), ops.multiply(ops.logSoftmax(masked), seen));
    },
    x,
  ],
  rmsNorm: [(ops, a, weight) => ops.rmsNorm(a, weight, 1e-6), x, drawn([KNOWN_SIZE])],
  "rmsNorm whose epsilon matters": [
    (ops, a, weight) => ops.rmsNorm(a, weight, 0.5),
    x,
    drawn([KNOWN_SIZE]),
  ],
  "rmsNorm of a row": [
    (ops, a, weight) => ops.rmsNorm(a, weight, 0.5),
    drawn([KNOWN_SIZE]),
    drawn([KNOWN_SIZE], 0.5, 2, "weight"),
  ],
  "reshape with -1": [(ops, a) => ops.reshape(a, [3, -1, 2]), x],
  "reshape with the axes of its input": [
    (ops, a) => {
      const [first, second] = ops.shape(a);
      return ops.reshape(a, [second!, -1, first!]);
    },
    x,
  ],
  "reshape to no axes": [(ops, a) => ops.reshape(a, []), drawn([1, 1])],
  "gather by one index": [
    (ops, table) => ops.gather(table, ops.constant({ data: Int32Array.of(2), shape: [] })),
    drawn([3, 4]),
  ],
  "a comparison, through which no gradient flows, of numbers that are given": [
    (ops, a) => ops.multiply(a, ops.greater(ops.constant(drawn([3, KNOWN_SIZE])), ops.scalar(0))),
    x,
  ],
  "one value used many times": [
    (ops, a) => {
      const y = ops.exp(ops.multiply(a, ops.scalar(0.5)));
      return ops.add(ops.multiply(y, y), ops.multiply(ops.divide(a, ops.add(y, a)), y));
    },
    positive,
  ],
  "one input on both sides": [(ops, a) => ops.matmul(a, ops.transpose(a, [1, 0])), drawn([2, 3])],
  "an input that the result does not depend on": [
    (ops, a) => ops.exp(a),
    x,
    drawn([2, 3], -3, 3, "unused"),
  ],
  "a result that is an input": [(_, a) => a, x],
};

/**
 * Gradients of the sum of the result, worked by hand, where differences are undefined or differ
 * from the wanted gradient.
 */
const WORKED: Readonly<
  Record<string, { program: Program; inputs: readonly number[][]; gradients: readonly number[][] }>
> = {
  "equal maxima share the gradient": {
    program: (ops, a) => ops.max(a, 0),
    inputs: [[2, 5, 5, 1, 5]],
    gradients: [[0, 1 / 3, 1 / 3, 0, 1 / 3]],
  },
  "relu at 0 has none": {
    program: (ops, a) => ops.relu(a),
    inputs: [[-1, 0, 1]],
    gradients: [[0, 0, 1]],
  },
  "nothing goes through stopGradient": {
    program: (ops, a, b) => ops.multiply(ops.multiply(a, ops.stopGradient(ops.multiply(a, b))), b),
    inputs: [
      [2, 3],
      [5, 7],
    ],
    gradients: [
      [2 * 5 * 5, 3 * 7 * 7],
      [2 * 2 * 5, 3 * 3 * 7],
    ],
  },
  "all is stopped": {
    program: (ops, a) => ops.stopGradient(ops.exp(a)),
    inputs: [[1, 2]],
    gradients: [[0, 0]],
  },
};
