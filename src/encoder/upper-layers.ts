/**
 * The upper encoder layers, L - B blocks that encode a question and a passage together (ReAtt,
 * section 2.2: the cross-encoder or "reader").
 */

import { maskBias } from "../model/layers/attention.ts";
import { bertBlocks } from "../model/layers/bert.ts";
import type { LayerContext } from "../model/layers/context.ts";
import { encoderBlock } from "../model/layers/encoder-block.ts";
import { relativeBias } from "../model/layers/relative-position.ts";
import type { ModelParameters } from "../model/parameters.ts";

/** Pairs of a question and a passage, as states of the lower layers. */
export interface PairInput<T> {
  /**
   * [pairs, length, modelSize]: a question, directly after it a passage, padding on either side.
   */
  readonly states: T;
  /** float32 [pairs, length], 1 for a token and 0 for padding */
  readonly mask: T;
  /** `positionBuckets(config, "encoder", length)` */
  readonly buckets: T;
}

/**
 * The joint layers of a backbone, blocks B to L - 1 and the final norm: ->
 * [pairs, length, modelSize], the input of the decoder.
 */
export function upperStates<T>(
  context: LayerContext<T>,
  parameters: ModelParameters<T>,
  input: PairInput<T>,
): T {
  const { ops, config, dropout } = context;
  const { jointBlocks = [], blocks, relativeBias: table, finalNorm } = parameters.encoder;
  const joint = bertBlocks(context, jointBlocks, input.states, input.mask);
  const bias = ops.add(relativeBias(ops, table, input.buckets), maskBias(ops, input.mask));
  const x = blocks
    .slice(config.retrievalLayer)
    .reduce((x, block) => encoderBlock(context, block, x, bias), joint);
  return dropout(ops.rmsNorm(x, finalNorm, config.layerNormEpsilon));
}
