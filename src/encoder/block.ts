import { attend, attentionScores, feedForward, projectToHeads } from "../model/layers/attention.ts";
import type { Scope } from "../model/layers/context.ts";
import type { EncoderBlockParameters } from "../model/parameters.ts";

/**
 * One encoder block: `x += attention(norm(x)); x += feedForward(norm(x))`.
 *
 * x [batch, length, modelSize]; bias [batch or 1, heads, length, length] is added to the scores.
 */
export function encoderBlock<T>(scope: Scope<T>, block: EncoderBlockParameters<T>, x: T, bias: T): T {
  const { ops, config, dropout } = scope;
  const normed = ops.rmsNorm(x, block.attentionNorm, config.layerNormEpsilon);
  const query = projectToHeads(scope, block.attention.query, normed);
  const key = projectToHeads(scope, block.attention.key, normed);
  const value = projectToHeads(scope, block.attention.value, normed);
  const scores = ops.add(attentionScores(ops, query, key), bias);
  const attended = ops.add(x, dropout(attend(scope, block.attention, scores, value)));
  const inner = ops.rmsNorm(attended, block.feedForwardNorm, config.layerNormEpsilon);
  return ops.add(attended, dropout(feedForward(scope, block.feedForward, inner)));
}
