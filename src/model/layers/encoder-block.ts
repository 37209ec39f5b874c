/** The encoder block of T5 (Raffel et al. 2020), with the norm before each layer. */

import type { EncoderBlockParameters } from "../parameters.ts";
import { attend, attentionScores, feedForward, projectToHeads } from "./attention.ts";
import type { LayerContext } from "./context.ts";

/**
 * `x += attention(norm(x)); x += feedForward(norm(x))`
 *
 * x [batch, length, modelSize]; bias [batch or 1, heads, length, length] is added to the attention
 * scores.
 */
export function encoderBlock<T>(
  context: LayerContext<T>,
  block: EncoderBlockParameters<T>,
  x: T,
  bias: T,
): T {
  const { ops, config, dropout } = context;
  const normed = ops.rmsNorm(x, block.attentionNorm, config.layerNormEpsilon);
  const query = projectToHeads(context, block.attention.query, normed);
  const key = projectToHeads(context, block.attention.key, normed);
  const value = projectToHeads(context, block.attention.value, normed);
  const scores = ops.add(attentionScores(ops, query, key), bias);
  const attended = ops.add(x, dropout(attend(context, block.attention, scores, value)));
  const inner = ops.rmsNorm(attended, block.feedForwardNorm, config.layerNormEpsilon);
  return ops.add(attended, dropout(feedForward(context, block.feedForward, inner)));
}
