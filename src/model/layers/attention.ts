/**
 * Multi-head attention and feed-forward layers of T5 (Raffel et al. 2020; the gated form of v1.1:
 * Shazeer 2020).
 *
 * Attention scores are not divided by the square root of the head size: T5 has that in its weights.
 */

import type { Ops } from "../../tensor/ops.ts";
import type { ModelConfig } from "../config.ts";
import type { AttentionParameters, FeedForwardParameters } from "../parameters.ts";
import type { LayerContext } from "./context.ts";

/** Bias of masked attention scores. Its exponential is exactly 0 in float32. */
export const MASKED = -1e9;

/** `x W^T`: [..., in] x [out, in] -> [..., out]. */
export function linear<T>(ops: Ops<T>, weight: T, x: T): T {
  return ops.matmul(x, ops.transpose(weight, [1, 0]));
}

/** Projects and splits by heads: [batch, length, modelSize] -> [batch, heads, length, headSize]. */
export const projectToHeads = <T>({ ops, config }: LayerContext<T>, weight: T, x: T): T =>
  splitHeads(ops, linear(ops, weight, x), config);

/** [batch, length, heads * headSize] -> [batch, heads, length, headSize] */
export function splitHeads<T>(ops: Ops<T>, x: T, { heads, headSize }: HeadSizes): T {
  const [batch, length] = ops.shape(x);
  const split = ops.reshape(x, [batch!, length!, heads, headSize]);
  return ops.transpose(split, [0, 2, 1, 3]);
}

export type HeadSizes = Pick<ModelConfig, "heads" | "headSize">;

/**
 * `query key^T`: [batch, heads, query, headSize] x [batch, heads, key, headSize] ->
 * [batch, heads, query, key].
 */
export function attentionScores<T>(ops: Ops<T>, query: T, key: T): T {
  return ops.matmul(query, ops.transpose(key, [0, 1, 3, 2]));
}

/** `softmax(scores) value`, with the heads joined and projected: -> [batch, query, modelSize]. */
export function attend<T>(
  { ops, config }: LayerContext<T>,
  layer: AttentionParameters<T>,
  scores: T,
  value: T,
): T {
  return linear(ops, layer.output, meanValues(ops, scores, value, config));
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

/** The feed-forward layer: [..., modelSize] -> [..., modelSize]. */
export function feedForward<T>(
  { ops, dropout }: LayerContext<T>,
  layer: FeedForwardParameters<T>,
  x: T,
): T {
  const inner = linear(ops, layer.inner, x);
  if (layer.kind === "gated-gelu") {
    const gated = ops.multiply(ops.geluTanh(linear(ops, layer.gate, x)), inner);
    return linear(ops, layer.outer, dropout(gated));
  }
  const activated = layer.kind === "relu" ? ops.relu(inner) : ops.geluTanh(inner);
  return linear(ops, layer.outer, dropout(activated));
}
