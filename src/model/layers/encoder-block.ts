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
  const { ops, dropout } = context;
  const attended = ops.add(x, dropout(attentionPart(context, block, x, bias)));
  return ops.add(attended, dropout(feedForwardPart(context, block, attended)));
}

/** What the self-attention of a block adds to `x`. */
export function attentionPart<T>(
  context: LayerContext<T>,
  block: EncoderBlockParameters<T>,
  x: T,
  bias: T,
): T {
  const { ops, config } = context;
  const normed = ops.rmsNorm(x, block.attentionNorm, config.layerNormEpsilon);
  const query = projectToHeads(context, block.attention.query, normed);
  const key = projectToHeads(context, block.attention.key, normed);
  const value = projectToHeads(context, block.attention.value, normed);
  const scores = ops.add(attentionScores(ops, query, key), bias);
  return attend(context, block.attention, scores, value);
}

/** What the feed-forward layer of a block adds to `x`. */
export function feedForwardPart<T>(
  context: LayerContext<T>,
  block: EncoderBlockParameters<T>,
  x: T,
): T {
  const { ops, config } = context;
  const normed = ops.rmsNorm(x, block.feedForwardNorm, config.layerNormEpsilon);
  return feedForward(context, block.feedForward, normed);
}
