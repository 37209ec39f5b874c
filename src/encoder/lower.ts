/**
 * The lower encoder layers, which see a question or a passage alone (ReAtt, section 2.2).
 *
 * B = `retrievalLayer` blocks turn token ids into states; the first norm and one head of block B turn the states into
 * what retrieval compares: query vectors of a question, keys of a passage.
 */

import { linear, maskBias } from "../layers/attention.ts";
import { relativeBias } from "../layers/relative-position.ts";
import type { Scope } from "../layers/scope.ts";
import type { ModelParameters } from "../weights/parameters.ts";
import { encoderBlock } from "./block.ts";

/** What an encoder reads. Padding, where `mask` is 0, is never seen and may stand on either side. */
export interface EncoderInput<T> {
  /** int32 [batch, length] */
  readonly ids: T;
  /** float32 [batch, length], 1 for a token and 0 for padding */
  readonly mask: T;
  /** `positionBuckets(config, "encoder", length)` */
  readonly buckets: T;
}

/** States below block B: -> [batch, length, modelSize]. */
export function lowerStates<T>(scope: Scope<T>, parameters: ModelParameters<T>, input: EncoderInput<T>): T {
  const { ops, config, dropout } = scope;
  const { blocks, relativeBias: table } = parameters.encoder;
  const bias = ops.add(relativeBias(ops, table, input.buckets), maskBias(ops, input.mask));
  let x = dropout(ops.gather(parameters.embedding, input.ids));
  for (const block of blocks.slice(0, config.retrievalLayer)) x = encoderBlock(scope, block, x, bias);
  return x;
}

/** The retrieval head's query vectors (of a question) or keys (of a passage): [batch, length, modelSize] -> [batch, length, headSize]. */
export function retrievalVectors<T>(
  { ops, config }: Scope<T>,
  parameters: ModelParameters<T>,
  states: T,
  projection: "query" | "key",
): T {
  const { attentionNorm, attention } = parameters.encoder.blocks[config.retrievalLayer]!;
  const first = config.retrievalHead * config.headSize;
  const head = ops.slice(attention[projection], 0, first, first + config.headSize);
  return linear(ops, head, ops.rmsNorm(states, attentionNorm, config.layerNormEpsilon));
}
