/**
 * Multi-head attention and feed-forward layers of T5 (Raffel et al. 2020; the gated form of v1.1:
 * Shazeer 2020).
 *
 * Attention scores are not divided by the square root of the head size: T5 has that in its weights.
 */

import type { Ops } from "../../tensor/ops.ts";
import type { AttentionParameters, FeedForwardParameters } from "../parameters.ts";
import type { LayerContext } from "./context.ts";

/** Bias of masked attention scores. Its exponential is exactly 0 in float32. */
export const MASKED = -1e9;

/** `x W^T`: [..., in] x [out, in] -> [..., out]. */
export function linear<T>(ops: Ops<T>, weight: T, x: T): T {
  return ops.matmul(x, ops.transpose(weight, [1, 0]));
}

/** Projects and splits by heads: [batch, length, modelSize] -> [batch, heads, length, headSize]. */
export function projectToHeads<T>({ ops, config }: LayerContext<T>, weight: T, x: T): T {
  const [batch, length] = ops.shape(x);
  const heads = ops.reshape(linear(ops, weight, x), [
    batch!,
    length!,
    config.heads,
    config.headSize,
  ]);
  return ops.transpose(heads, [0, 2, 1, 3]);
}

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
  const context = ops.matmul(ops.softmax(scores), value); // [batch, heads, query, headSize]
  const [batch, , length] = ops.shape(context);
  const joined = ops.reshape(ops.transpose(context, [0, 2, 1, 3]), [
    batch!,
    length!,
    config.heads * config.headSize,
  ]);
  return linear(ops, layer.output, joined);
}

/** Bias 0 where `mask` is 1, {@link MASKED} where it is 0: [batch, key] -> [batch, 1, 1, key]. */
export function maskBias<T>(ops: Ops<T>, mask: T): T {
  const [batch, key] = ops.shape(mask);
  const hidden = ops.subtract(ops.scalar(1), mask);
  return ops.reshape(ops.multiply(hidden, ops.scalar(MASKED)), [batch!, 1, 1, key!]);
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
