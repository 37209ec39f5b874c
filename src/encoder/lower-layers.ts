/**
 * The lower encoder layers, which see a question or a passage alone (ReAtt, section 2.2).
 *
 * B = `retrievalLayer` blocks turn token ids into states; the first norm and one head of block B turn the states into
 * what retrieval compares: query vectors of a question, keys of a passage. A model may have a copy of them that makes query
 * vectors (`queryEncoder`), and then reads a question that it retrieved with by the others.
 */

import { linear, maskBias, projectToHeads } from "../model/layers/attention.ts";
import type { LayerContext } from "../model/layers/context.ts";
import { relativeBias } from "../model/layers/relative-position.ts";
import type { ModelParameters } from "../model/parameters.ts";
import { encoderBlock } from "./block.ts";

/** What makes states, and keys or query vectors of them. */
export type LowerParameters<T> = Pick<ModelParameters<T>, "embedding" | "encoder">;

/** What makes query vectors. */
export const querySide = <T>({
  embedding,
  queryEncoder,
}: ModelParameters<T>): LowerParameters<T> => ({
  embedding,
  encoder: queryEncoder,
});

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
export function lowerStates<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  input: EncoderInput<T>,
): T {
  return lowerBlocks(context, parameters, embed(context, parameters, input.ids), input);
}

/** int32 [...] -> [..., modelSize]. */
export function embed<T>(
  { ops, dropout }: LayerContext<T>,
  parameters: LowerParameters<T>,
  ids: T,
): T {
  return dropout(ops.gather(parameters.embedding, ids));
}

/** Embedded tokens through the blocks below B: [batch, length, modelSize] -> the same. */
export function lowerBlocks<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  embedded: T,
  { mask, buckets }: Omit<EncoderInput<T>, "ids">,
): T {
  const { ops, config } = context;
  const { blocks, relativeBias: table } = parameters.encoder;
  const bias = ops.add(relativeBias(ops, table, buckets), maskBias(ops, mask));
  return blocks
    .slice(0, config.retrievalLayer)
    .reduce((x, block) => encoderBlock(context, block, x, bias), embedded);
}

/** The retrieval head's query vectors (of a question) or keys (of a passage): [batch, length, modelSize] -> [batch, length, headSize]. */
export function retrievalVectors<T>(
  { ops, config }: LayerContext<T>,
  parameters: LowerParameters<T>,
  states: T,
  projection: "query" | "key",
): T {
  const { attentionNorm, attention } = parameters.encoder.blocks[config.retrievalLayer]!;
  const first = config.retrievalHead * config.headSize;
  const head = ops.slice(attention[projection], 0, first, first + config.headSize);
  return linear(ops, head, ops.rmsNorm(states, attentionNorm, config.layerNormEpsilon));
}

/** The same of all heads of block B: -> [batch, heads, length, headSize]. */
export function headVectors<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  states: T,
  projection: "query" | "key",
): T {
  const { ops, config } = context;
  const { attentionNorm, attention } = parameters.encoder.blocks[config.retrievalLayer]!;
  return projectToHeads(
    context,
    attention[projection],
    ops.rmsNorm(states, attentionNorm, config.layerNormEpsilon),
  );
}
