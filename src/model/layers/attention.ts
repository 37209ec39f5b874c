/** Linear layers and multi-head attention, which all kinds of layers are made of. */

import type { Ops } from "../../tensor/ops.ts";
import type { AffineParameters, HeadSizes, Projection } from "../parameters.ts";

/** Bias of masked attention scores. Its exponential is exactly 0 in float32. */
export const MASKED = -1e9;

/** `x W^T`: [..., in] x [out, in] -> [..., out]. */
export function linear<T>(ops: Ops<T>, weight: T, x: T): T {
  return ops.matmul(x, ops.transpose(weight, [1, 0]));
}

/** `x W^T + b`, or without b: [..., in] -> [..., out] */
export function project<T>(ops: Ops<T>, { weight, bias }: Projection<T>, x: T): T {
  const product = linear(ops, weight, x);
  return bias === undefined ? product : ops.add(product, bias);
}

/** `(x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias` over the last axis */
export function layerNorm<T>(
  ops: Ops<T>,
  { weight, bias }: AffineParameters<T>,
  x: T,
  epsilon: number,
): T {
  const centred = ops.subtract(x, ops.mean(x, [-1], { keep: true }));
  return ops.add(ops.rmsNorm(centred, weight, epsilon), bias);
}

/** Projects and splits by heads: [batch, length, width] -> [batch, heads, length, headSize]. */
export const projectToHeads = <T>(
  ops: Ops<T>,
  projection: Projection<T>,
  x: T,
  sizes: HeadSizes,
): T => splitHeads(ops, project(ops, projection, x), sizes);

/** [batch, length, heads * headSize] -> [batch, heads, length, headSize] */
function splitHeads<T>(ops: Ops<T>, x: T, { heads, headSize }: HeadSizes): T {
  const [batch, length] = ops.shape(x);
  const split = ops.reshape(x, [batch!, length!, heads, headSize]);
  return ops.transpose(split, [0, 2, 1, 3]);
}

/**
 * `query key^T`: [batch, heads, query, headSize] x [batch, heads, key, headSize] ->
 * [batch, heads, query, key].
 */
export function attentionScores<T>(ops: Ops<T>, query: T, key: T): T {
  return ops.matmul(query, ops.transpose(key, [0, 1, 3, 2]));
}

/** `softmax(scores) value`, with the heads joined: -> [batch, query, heads * headSize]. */
export function meanValues<T>(ops: Ops<T>, scores: T, value: T, { heads, headSize }: HeadSizes): T {
  const means = ops.matmul(ops.softmax(scores), value); // [batch, heads, query, headSize]
  const [batch, , length] = ops.shape(means);
  return ops.reshape(ops.transpose(means, [0, 2, 1, 3]), [batch!, length!, heads * headSize]);
}

/** 0 where `mask` is 1, {@link MASKED} where it is 0. */
export const hiddenBias = <T>(ops: Ops<T>, mask: T): T =>
  ops.multiply(ops.subtract(ops.scalar(1), mask), ops.scalar(MASKED));

/** `hiddenBias` for attention: [batch, key] -> [batch, 1, 1, key]. */
export function maskBias<T>(ops: Ops<T>, mask: T): T {
  const [batch, key] = ops.shape(mask);
  return ops.reshape(hiddenBias(ops, mask), [batch!, 1, 1, key!]);
}
