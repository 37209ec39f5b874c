/**
 * The tensor operations that a model may use.
 *
 * The model is written once, as functions over `Ops<T>`. Two implementations exist: the tracer
 * (trace.ts) records a graph for onnxruntime, and tensorflow/ops.ts computes immediately with
 * TensorFlow.js.
 *
 * The semantics are those of the ONNX operator of the same name, unless a comment says otherwise:
 * https://onnx.ai/onnx/operators/
 */

export type DataType = "float32" | "int32";

/** One axis of a shape: a size, or a name for a size that is known only when the graph runs. */
export type Dim = number | string;
export type Shape = readonly Dim[];

/** Values with a shape, in row-major order. */
export interface Tensor {
  /** The values, row by row. */
  readonly data: Float32Array | Int32Array;
  /** The sizes of the axes. */
  readonly shape: readonly number[];
}

/**
 * Operations over tensors of type `T`.
 *
 * Elementwise operations broadcast as NumPy does. Negative axes count from the end.
 *
 * @example
 * ```ts
 * import type { Ops } from "reatt/training";
 *
 * // the entropy of each row of logits: [rows, classes] -> [rows]
 * function entropy<T>(ops: Ops<T>, logits: T): T {
 *   const logs = ops.logSoftmax(logits);
 *   return ops.multiply(ops.sum(ops.multiply(ops.exp(logs), logs), [1]), ops.scalar(-1));
 * }
 * console.log(entropy.length); // 2
 * ```
 */
export interface Ops<T> {
  /** The shape of `x`. Its axes may be used in `reshape` and `expand`. */
  shape(x: T): Shape;
  /** A constant tensor. */
  constant(value: Tensor): T;
  /** A float32 scalar (rank 0). */
  scalar(value: number): T;

  add(a: T, b: T): T;
  subtract(a: T, b: T): T;
  multiply(a: T, b: T): T;
  divide(a: T, b: T): T;
  exp(x: T): T;
  log(x: T): T;
  sqrt(x: T): T;
  sigmoid(x: T): T;
  relu(x: T): T;
  /** `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to x. */
  erf(x: T): T;
  /** `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`: T5 v1.1's `gelu_new`. */
  geluTanh(x: T): T;
  /** 1 where `a > b`, else 0, as float32. */
  greater(a: T, b: T): T;
  /** 1 where `a = b`, else 0, as float32. */
  equal(a: T, b: T): T;

  /** `[..., m, k] x [..., k, n] -> [..., m, n]`. The leading axes are equal, or absent in `b`. */
  matmul(a: T, b: T): T;
  transpose(x: T, permutation: readonly number[]): T;
  /** At most one axis may be -1: its size is inferred. */
  reshape(x: T, shape: Shape): T;
  expand(x: T, shape: Shape): T;
  concat(parts: readonly T[], axis: number): T;
  /** The inverse of `concat`: parts of the given sizes, whose sum is the size of the axis. */
  split(x: T, axis: number, sizes: readonly Dim[]): T[];
  /** `x[start:end]` along `axis`; a negative or missing `end` counts from the end. */
  slice(x: T, axis: number, start: number, end?: number): T;
  /** The rows of `table` (axis 0) at int32 `indices`: `[rows, ...r]`, `[...i] -> [...i, ...r]`. */
  gather(table: T, indices: T): T;
  /**
   * Adds each row of `updates` to the row of `table` at its index. Repeated indices are added in a
   * fixed order.
   */
  scatterAdd(table: T, updates: T, indices: T): T;
  /** 1 at the int32 index, else 0: `[...i] -> [...i, depth]`. */
  oneHot(indices: T, depth: number): T;

  /** The sum of all values before each one along the last axis, as int32. It has no gradient. */
  sumBefore(x: T): T;
  sum(x: T, axes: readonly number[], options?: { keep?: boolean }): T;
  mean(x: T, axes: readonly number[], options?: { keep?: boolean }): T;
  max(x: T, axis: number, options?: { keep?: boolean }): T;
  /** Over the last axis. */
  softmax(x: T): T;
  /** Over the last axis. */
  logSoftmax(x: T): T;
  /**
   * `x / sqrt(mean(x^2) + epsilon) * weight` over the last axis: T5's layer norm (Zhang and
   * Sennrich 2019).
   */
  rmsNorm(x: T, weight: T, epsilon: number): T;
  /** Returns `x`. Its gradient is 0. */
  stopGradient(x: T): T;
}
