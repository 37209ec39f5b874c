/** The upper encoder layers, which see a question and a passage together (ReAtt, section 2.2). */

import { maskBias } from "../model/layers/attention.ts";
import type { LayerContext } from "../model/layers/context.ts";
import { relativeBias } from "../model/layers/relative-position.ts";
import type { ModelParameters } from "../model/parameters.ts";
import { encoderBlock } from "./block.ts";

/** Questions and passages in pairs, as the lower layers left them. */
export interface PairInput<T> {
  /** [pairs, length, modelSize]: a question, right after it a passage, and padding on either side. */
  readonly states: T;
  /** float32 [pairs, length], 1 for a token and 0 for padding */
  readonly mask: T;
  /** `positionBuckets(config, "encoder", length)` */
  readonly buckets: T;
}

/** What the decoder reads: -> [pairs, length, modelSize]. */
export function upperStates<T>(
  context: LayerContext<T>,
  parameters: ModelParameters<T>,
  input: PairInput<T>,
): T {
  const { ops, config, dropout } = context;
  const { blocks, relativeBias: table, finalNorm } = parameters.encoder;
  const bias = ops.add(relativeBias(ops, table, input.buckets), maskBias(ops, input.mask));
  const x = blocks
    .slice(config.retrievalLayer)
    .reduce((x, block) => encoderBlock(context, block, x, bias), input.states);
  return dropout(ops.rmsNorm(x, finalNorm, config.layerNormEpsilon));
}
