/**
 * `Ops` implemented with TensorFlow.js: operations are computed immediately and recorded on its
 * gradient tape.
 *
 * An operation defines its own gradient where that of TensorFlow.js is wrong, missing or slow.
 */

import type { Tensor as TfTensor } from "@tensorflow/tfjs-core";
import type { Ops, Shape } from "../ops.ts";
import { axisOf, slicedShape } from "../shapes.ts";
import type { TensorFlow } from "./load.ts";

export function tensorFlowOps(tf: TensorFlow): Ops<TfTensor> {
  const ops: Ops<TfTensor> = {
    shape: (x) => x.shape,
    constant: ({ data, shape }) =>
      tf.tensor(data, [...shape], data instanceof Float32Array ? "float32" : "int32"),
    scalar: (value) => tf.scalar(value, "float32"),

    add: tf.add,
    subtract: tf.sub,
    multiply: tf.mul,
    divide: tf.div,
    exp: tf.exp,
    log: tf.log,
    sqrt: tf.sqrt,
    sigmoid: tf.sigmoid,
    relu: tf.relu,
    erf: tf.erf,
    geluTanh(x) {
      const cubic = tf.mul(tf.mul(x, x), x);
      const inner = tf.mul(tf.add(x, tf.mul(cubic, 0.044715)), Math.sqrt(2 / Math.PI));
      return tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(inner), 1));
    },
    greater: (a, b) => asFloat(tf, tf.greater(a, b)),
    equal: (a, b) => asFloat(tf, tf.equal(a, b)),

    // The tape does not sum gradients over leading axes that b lacks, so a is flattened to rows.
    matmul(a, b) {
      if (a.rank === b.rank) return tf.matMul(a, b);
      const rows = tf.reshape(a, [-1, a.shape.at(-1)!]);
      return tf.reshape(tf.matMul(rows, b), [...a.shape.slice(0, -1), b.shape[1]!]);
    },
    transpose: (x, permutation) => tf.transpose(x, [...permutation]),
    reshape: (x, shape) => tf.reshape(x, sizes(shape)),
    // An addition, since the tape supports broadcastTo only up to rank 4.
    expand: (x, shape) => tf.add(x, tf.zeros(sizes(shape), x.dtype)),
    concat: (parts, axis) => tf.concat([...parts], axis),
    // The tape fails at a split into one part.
    split: (x, axis, parts) => (parts.length === 1 ? [x] : tf.split(x, sizes(parts), axis)),
    slice(x, axis, start, end) {
      const along = axisOf(axis, x.rank);
      const begin = x.shape.map((size, i) =>
        i === along ? (start < 0 ? start + size : start) : 0,
      );
      return tf.slice(x, begin, sizes(slicedShape(x.shape, along, start, end)));
    },
    // The tape's own gradient compares every index with every row.
    gather: (table, indices) =>
      differentiated(
        tf,
        table,
        () => ({ value: tf.gather(table, indices, 0), saved: [indices] }),
        (gradient, at) => sumRows(tf, gradient, at!, table.shape[0]!),
      ),
    // On a GPU, TensorFlow adds in no fixed order.
    scatterAdd: (table, updates, indices) =>
      tf.add(
        table,
        differentiated(
          tf,
          updates,
          () => ({ value: sumRows(tf, updates, indices, table.shape[0]!), saved: [indices] }),
          (gradient, at) => tf.gather(gradient, at!, 0),
        ),
      ),
    // oneHot of TensorFlow.js needs a depth of at least 2.
    oneHot: (indices, depth) =>
      ops.equal(tf.expandDims(indices, -1), tf.range(0, depth, 1, "int32")),

    sumBefore: (x) => tf.cast(tf.cumsum(x, x.rank - 1, true), "int32"),
    sum: (x, axes, { keep = false } = {}) => tf.sum(x, [...axes], keep),
    mean: (x, axes, { keep = false } = {}) => tf.mean(x, [...axes], keep),
    max(x, axis, { keep = false } = {}) {
      const highest = keptMax(tf, x, axis);
      return keep ? highest : tf.squeeze(highest, [axisOf(axis, x.rank)]);
    },
    softmax: (x) => tf.softmax(x),
    logSoftmax: (x) => tf.logSoftmax(x),
    rmsNorm(x, weight, epsilon) {
      const meanSquare = tf.mean(tf.square(x), -1, true);
      return tf.mul(tf.mul(x, tf.rsqrt(tf.add(meanSquare, epsilon))), weight);
    },
    stopGradient: (x) =>
      differentiated(
        tf,
        x,
        () => ({ value: tf.clone(x), saved: [] }),
        (gradient) => tf.zerosLike(gradient),
      ),
  };
  return ops;
}

/**
 * Returns the `value` of `compute()`, a function of `x`, with the gradient `differentiate(gradient
 * of the value, ...saved)`. Tensors that are not saved may be disposed of before `differentiate`
 * runs.
 */
function differentiated(
  tf: TensorFlow,
  x: TfTensor,
  compute: () => { value: TfTensor; saved: TfTensor[] },
  differentiate: (gradient: TfTensor, ...saved: TfTensor[]) => TfTensor,
): TfTensor {
  return tf.customGrad((_, save) => {
    const { value, saved } = compute();
    (save as (tensors: TfTensor[]) => void)(saved);
    return { value, gradFunc: (gradient, kept) => differentiate(gradient, ...kept) };
  })(x);
}

/** Equal maxima share the gradient. The tape would give the whole gradient to each of them. */
function keptMax(tf: TensorFlow, x: TfTensor, axis: number): TfTensor {
  return differentiated(
    tf,
    x,
    () => {
      const value = tf.max(x, axis, true);
      return { value, saved: [x, value] };
    },
    (gradient, given, value) => {
      const winners = asFloat(tf, tf.equal(given!, value!));
      return tf.mul(gradient, tf.div(winners, tf.sum(winners, axis, true)));
    },
  );
}

function sumRows(tf: TensorFlow, updates: TfTensor, indices: TfTensor, rows: number): TfTensor {
  const row = updates.shape.slice(indices.rank);
  const flat = tf.reshape(updates, [indices.size, ...row]);
  return tf.scatterND(tf.reshape(indices, [-1, 1]), flat, [rows, ...row]);
}

/**
 * Converts true and false to 1 and 0. The multiplication is for the cpu backend, whose cast changes
 * only the name of the type.
 */
function asFloat(tf: TensorFlow, x: TfTensor): TfTensor {
  return tf.mul(tf.cast(x, "float32"), 1);
}

/** All sizes are numbers, since TensorFlow.js computes immediately. */
const sizes = (shape: Shape): number[] => shape.map(Number);
