/**
 * Reverse-mode automatic differentiation of traced graphs: one rule per operation of `Ops`.
 *
 * A rule maps the gradient of the loss with respect to a node's outputs to the gradients with
 * respect to its inputs. Rules use only `Ops`, so the gradients become part of the graph and run on
 * the same engine.
 *
 * Source: Linnainmaa 1970; Baydin et al. 2018, "Automatic differentiation in machine learning: a
 * survey".
 */

import type { Ops, Shape } from "./ops.ts";
import type { Node, Operation, Tracer, Value } from "./trace.ts";

/**
 * Extends the graph of `tracer` by the gradients of `loss`, a float32 scalar, with respect to
 * `variables`.
 *
 * Returns the gradients in the order of `variables`, with the shapes of the variables. Adds them to
 * `known` if it is given. The gradient is zero for a variable that `loss` does not depend on. The
 * sizes of sliced or averaged axes must be known.
 */
export function gradients(
  tracer: Tracer,
  loss: Value,
  variables: readonly Value[],
  known?: readonly Value[],
): Value[] {
  const recorded = [...tracer.nodes];
  const dependent = new Set<Value>(variables);
  for (const { operation, inputs, outputs } of recorded)
    if (operation !== "stopGradient" && inputs.some((input) => dependent.has(input)))
      for (const output of outputs) dependent.add(output);

  const sums = new Map<Value, Value>([[loss, tracer.scalar(1)]]);
  for (const [i, sum] of known?.entries() ?? []) sums.set(variables[i]!, sum);
  for (const node of recorded.reverse()) {
    if (!node.outputs.some((output) => sums.has(output) && dependent.has(output))) continue;
    const [first, ...more] = node.outputs.map(
      (output) => sums.get(output) ?? zeros(tracer, output.shape),
    );
    const parts = rules[node.operation](tracer, node, first!, ...more);
    for (const [i, input] of node.inputs.entries()) {
      if (!dependent.has(input)) continue;
      sums.set(input, sumOf(tracer, sums.get(input), parts[i]!(), input.shape));
    }
  }
  return variables.map((variable) => sums.get(variable) ?? zeros(tracer, variable.shape));
}

/**
 * A sparse gradient of a table: row `indices[i]` has `updates[i]`, repeated indices have the sum,
 * other rows are zero.
 */
interface RowGradient {
  readonly indices: Value;
  readonly updates: Value;
}

/**
 * Adds a gradient to a sum of gradients of `shape`. Adds only the rows of a sparse gradient, since
 * tables are large.
 */
function sumOf(
  ops: Ops<Value>,
  sum: Value | undefined,
  part: Value | RowGradient,
  shape: Shape,
): Value {
  if ("updates" in part)
    return ops.scatterAdd(sum ?? zeros(ops, shape), part.updates, part.indices);
  return sum ? ops.add(sum, part) : part;
}

/**
 * Maps the gradients of the outputs to those of the inputs. The result is lazy: unneeded gradients
 * are not recorded.
 */
type Rule = (
  ops: Ops<Value>,
  node: Node,
  gradient: Value,
  ...more: Value[]
) => readonly (() => Value | RowGradient)[];

const none: Rule = (_, { operation }) => {
  throw new Error(`"${operation}" has no gradient`);
};

const rules: Record<Operation, Rule> = {
  constant: none,
  greater: none,
  equal: none,
  oneHot: none,
  sumBefore: none,
  stopGradient: none,
  add: (ops, { inputs: [a, b] }, g) => [
    () => sumTo(ops, g, a!.shape),
    () => sumTo(ops, g, b!.shape),
  ],
  subtract: (ops, { inputs: [a, b] }, g) => [
    () => sumTo(ops, g, a!.shape),
    () => sumTo(ops, ops.multiply(g, ops.scalar(-1)), b!.shape),
  ],
  multiply: (ops, { inputs: [a, b] }, g) => [
    () => sumTo(ops, ops.multiply(g, b!), a!.shape),
    () => sumTo(ops, ops.multiply(g, a!), b!.shape),
  ],
  divide: (ops, { inputs: [a, b], outputs: [quotient] }, g) => [
    () => sumTo(ops, ops.divide(g, b!), a!.shape),
    () =>
      sumTo(
        ops,
        ops.multiply(ops.divide(ops.multiply(g, quotient!), b!), ops.scalar(-1)),
        b!.shape,
      ),
  ],
  exp: (ops, { outputs: [y] }, g) => [() => ops.multiply(g, y!)],
  log: (ops, { inputs: [x] }, g) => [() => ops.divide(g, x!)],
  sqrt: (ops, { outputs: [y] }, g) => [() => ops.divide(ops.multiply(g, ops.scalar(0.5)), y!)],
  sigmoid: (ops, { outputs: [y] }, g) => [
    () => ops.multiply(g, ops.multiply(y!, ops.subtract(ops.scalar(1), y!))),
  ],
  relu: (ops, { inputs: [x] }, g) => [() => ops.multiply(g, ops.greater(x!, ops.scalar(0)))],
  erf: (ops, { inputs: [x] }, g) => [
    () => {
      const density = ops.exp(ops.multiply(ops.multiply(x!, x!), ops.scalar(-1)));
      return ops.multiply(g, ops.multiply(density, ops.scalar(2 / Math.sqrt(Math.PI))));
    },
  ],
  geluTanh: (ops, { inputs: [x], outputs: [y] }, g) => [
    () => ops.multiply(g, geluSlope(ops, x!, y!)),
  ],
  matmul: (ops, { inputs: [a, b] }, g) => [
    () => ops.matmul(g, swapLast(ops, b!)),
    () => {
      if (b!.shape.length === a!.shape.length) return ops.matmul(swapLast(ops, a!), g);
      const rows = (x: Value): Value => ops.reshape(x, [-1, x.shape.at(-1)!]);
      // B [k, n] is shared by all leading axes of a
      return ops.matmul(swapLast(ops, rows(a!)), rows(g));
    },
  ],
  transpose: (ops, { attributes: { permutation } }, g) => [
    () =>
      ops.transpose(
        g,
        permutation!.map((_, axis) => permutation!.indexOf(axis)),
      ),
  ],
  reshape: (ops, { inputs: [x] }, g) => [() => ops.reshape(g, x!.shape)],
  expand: (ops, { inputs: [x] }, g) => [() => sumTo(ops, g, x!.shape)],
  concat: (ops, { inputs, attributes: { axis } }, g) => {
    const parts = ops.split(
      g,
      axis!,
      inputs.map((part) => part.shape[axis!]!),
    );
    return parts.map((part) => () => part);
  },
  split: (ops, { attributes: { axis } }, ...parts) => [() => ops.concat(parts, axis!)],
  slice: (ops, { inputs: [x], outputs: [y], attributes: { axis, start } }, g) => [
    () => {
      const size = knownSize(x!.shape, axis!);
      const before = start! < 0 ? start! + size : start!;
      const after = size - before - knownSize(y!.shape, axis!);
      const padding = (length: number): Value[] =>
        length === 0
          ? []
          : [
              zeros(
                ops,
                x!.shape.map((dim, i) => (i === axis ? length : dim)),
              ),
            ];
      return ops.concat([...padding(before), g, ...padding(after)], axis!);
    },
  ],
  gather: (_, { inputs: [, indices] }, g) => [() => ({ indices: indices!, updates: g })],
  scatterAdd: (ops, { inputs: [, , indices] }, g) => [() => g, () => ops.gather(g, indices!)],
  sum: (ops, { inputs: [x], attributes: { axes } }, g) => [() => spread(ops, g, x!.shape, axes!)],
  mean: (ops, { inputs: [x], attributes: { axes } }, g) => [
    () => {
      const count = axes!.reduce((product, axis) => product * knownSize(x!.shape, axis), 1);
      return spread(ops, ops.multiply(g, ops.scalar(1 / count)), x!.shape, axes!);
    },
  ],
  // Equal maxima share the gradient.
  max: (ops, { inputs: [x], outputs: [y], attributes: { axes } }, g) => [
    () => {
      const winners = ops.equal(x!, ops.reshape(y!, keptShape(x!.shape, axes!)));
      const share = ops.divide(winners, ops.sum(winners, axes!, { keep: true }));
      return ops.multiply(ops.reshape(g, keptShape(x!.shape, axes!)), share);
    },
  ],
  softmax: (ops, { outputs: [y] }, g) => [
    () => {
      const weighted = ops.multiply(g, y!);
      return ops.subtract(weighted, ops.multiply(y!, ops.sum(weighted, [-1], { keep: true })));
    },
  ],
  logSoftmax: (ops, { outputs: [y] }, g) => [
    () => ops.subtract(g, ops.multiply(ops.exp(y!), ops.sum(g, [-1], { keep: true }))),
  ],
  // With r = 1 / sqrt(mean(x^2) + epsilon) and y = x r w: dx = r (g w - x r^2 mean(g w x)).
  rmsNorm: (ops, { inputs: [x, weight], attributes: { epsilon } }, g) => {
    const meanSquare = ops.mean(ops.multiply(x!, x!), [-1], { keep: true });
    const inverse = ops.divide(ops.scalar(1), ops.sqrt(ops.add(meanSquare, ops.scalar(epsilon!))));
    return [
      () => {
        const weighted = ops.multiply(g, weight!);
        const inner = ops.mean(ops.multiply(weighted, x!), [-1], { keep: true });
        const back = ops.multiply(inner, ops.multiply(inverse, inverse));
        return ops.multiply(inverse, ops.subtract(weighted, ops.multiply(x!, back)));
      },
      () => sumTo(ops, ops.multiply(g, ops.multiply(x!, inverse)), weight!.shape),
    ];
  },
};

/**
 * The derivative of `geluTanh`. With `s = sigmoid(2 u)`, `u = sqrt(2 / pi) (x + 0.044715 x^3)`, the
 * function is `y = x s` and its derivative `s + y (1 - s) 2 u'`.
 */
function geluSlope(ops: Ops<Value>, x: Value, y: Value): Value {
  const linear = 2 * Math.sqrt(2 / Math.PI);
  const cubic = ops.multiply(ops.multiply(x, x), ops.scalar(linear * 0.044715));
  const s = ops.sigmoid(ops.multiply(x, ops.add(cubic, ops.scalar(linear))));
  const slope = ops.add(ops.multiply(cubic, ops.scalar(3)), ops.scalar(linear));
  return ops.add(s, ops.multiply(ops.subtract(y, ops.multiply(y, s)), slope));
}

/** Sums a gradient over the broadcast axes of its tensor. */
function sumTo(ops: Ops<Value>, gradient: Value, shape: Shape): Value {
  const extra = gradient.shape.length - shape.length;
  const axes = gradient.shape.flatMap((dim, i) =>
    i < extra || (shape[i - extra] === 1 && dim !== 1) ? [i] : [],
  );
  return axes.length === 0 ? gradient : ops.reshape(ops.sum(gradient, axes), shape);
}

/** Broadcasts the gradient of a reduction over `axes` to `shape`. */
function spread(ops: Ops<Value>, gradient: Value, shape: Shape, axes: readonly number[]): Value {
  return ops.expand(ops.reshape(gradient, keptShape(shape, axes)), shape);
}

function keptShape(shape: Shape, axes: readonly number[]): Shape {
  return shape.map((dim, i) => (axes.includes(i) ? 1 : dim));
}

function swapLast(ops: Ops<Value>, x: Value): Value {
  const axes = x.shape.map((_, i) => i);
  return ops.transpose(x, [...axes.slice(0, -2), axes.length - 1, axes.length - 2]);
}

function zeros(ops: Ops<Value>, shape: Shape): Value {
  return ops.expand(ops.scalar(0), shape);
}

function knownSize(shape: Shape, axis: number): number {
  const size = shape[axis];
  if (typeof size !== "number")
    throw new Error(`the gradient needs a known size of axis "${size}"`);
  return size;
}
