/** The upper encoder layers, which see a question and a passage together (ReAtt, section 2.2). */

import { maskBias } from "../layers/attention.ts";
import { relativeBias } from "../layers/relative-position.ts";
import type { Scope } from "../layers/scope.ts";
import type { ModelParameters } from "../weights/parameters.ts";
import { encoderBlock } from "./block.ts";

/** Questions and passages in pairs, as the lower layers left them. */
export interface PairInput<T> {
  /** [pairs, question, modelSize]. A question is padded on the left, so that it ends where its passage begins. */
  readonly question: T;
  /** [pairs, passage, modelSize], padded on the right. */
  readonly passage: T;
  /** float32 [pairs, question + passage] */
  readonly mask: T;
  /** `positionBuckets(config, "encoder", question + passage)` */
  readonly buckets: T;
}

/** What the decoder reads: -> [pairs, question + passage, modelSize]. */
export function upperStates<T>(scope: Scope<T>, parameters: ModelParameters<T>, input: PairInput<T>): T {
  const { ops, config, dropout } = scope;
  const { blocks, relativeBias: table, finalNorm } = parameters.encoder;
  const bias = ops.add(relativeBias(ops, table, input.buckets), maskBias(ops, input.mask));
  let x = ops.concat([input.question, input.passage], 1);
  for (const block of blocks.slice(config.retrievalLayer)) x = encoderBlock(scope, block, x, bias);
  return dropout(ops.rmsNorm(x, finalNorm, config.layerNormEpsilon));
}
