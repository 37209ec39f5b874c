/**
 * Pooling: one vector for a text instead of one for each token (Karpukhin et al. 2020, "Dense
 * Passage Retrieval", DPR). An inner product of two vectors is the retrieval score of ReAtt (Eq. 1)
 * of one query row and one key, so index, search and training are those of token keys.
 *
 * Sources: DPR, section 3.1, for the vector of one special token; Reimers and Gurevych 2019
 * (Sentence-BERT), section 3, for the mean and the cosine.
 */

import type { ModelConfig, Pooling } from "../model/config.ts";
import type { Ops } from "../tensor/ops.ts";

/** The weighted sum of the rows of a text: [batch, length, size] -> [batch, 1, size]. */
export function pool<T>(ops: Ops<T>, pooling: Pooling, rows: T, mask: T): T {
  const [batch, length] = ops.shape(mask);
  return ops.matmul(ops.reshape(weightsOf(ops, pooling, mask), [batch!, 1, length!]), rows);
}

/** The weight of each token, with a sum of 1 for each text: [batch, length] -> [batch, length]. */
function weightsOf<T>(ops: Ops<T>, pooling: Pooling, mask: T): T {
  if (pooling === "mean") return ops.divide(mask, ops.sum(mask, [1], { keep: true }));
  const end = ops.multiply(ops.slice(mask, 1, 0, 1), ops.scalar(0));
  if (pooling === "cls") {
    // The first token is the one after padding on the left, or after the beginning.
    const before = ops.concat([end, ops.slice(mask, 1, 0, -1)], 1);
    return ops.subtract(mask, ops.multiply(mask, before));
  }
  // The last token is the one before padding on the right, or before the end.
  const next = ops.concat([ops.slice(mask, 1, 1), end], 1);
  return ops.subtract(mask, ops.multiply(mask, next));
}

/** Small enough for vectors of any length that float32 has a square of. */
const EPSILON = 1e-12;

/** Vectors of length 1: `x / |x|` over the last axis, of `size` values. */
export function unitVectors<T>(ops: Ops<T>, x: T, size: number): T {
  const weight = { data: new Float32Array(size).fill(size ** -0.5), shape: [size] };
  return ops.rmsNorm(x, ops.constant(weight), EPSILON);
}

/** The mask of the vectors that retrieval compares: [batch, length] -> the same, or [batch, 1]. */
export const vectorMask = <T>(ops: Ops<T>, { retrievalAttention }: ModelConfig, mask: T): T =>
  retrievalAttention.pooling === undefined ? mask : ops.max(mask, 1, { keep: true });
