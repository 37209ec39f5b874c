/**
 * The lower encoder layers, which encode a question or a passage alone (ReAtt, section 2.2: the
 * bi-encoder or "retriever").
 *
 * The first B = `retrievalLayer` blocks turn token ids into states. The first norm and the retrieval
 * head of block B (0-based; layer B + 1 of the paper) turn states into the vectors of the retrieval
 * attention Q K^T: query vectors Q of a question, keys K of a passage.
 *
 * A model can have a query encoder: a copy of these weights that makes only query vectors. The states
 * of the questions that such a model reads still come from the encoder.
 */

import { linear, maskBias, projectToHeads } from "../model/layers/attention.ts";
import type { LayerContext } from "../model/layers/context.ts";
import { encoderBlock } from "../model/layers/encoder-block.ts";
import { relativeBias } from "../model/layers/relative-position.ts";
import type { ModelParameters } from "../model/parameters.ts";

/** The weights of the lower layers. */
export type LowerParameters<T> = Pick<ModelParameters<T>, "embedding" | "encoder">;

/** The weights that make query vectors. */
export const querySide = <T>({
  embedding,
  queryEncoder,
}: ModelParameters<T>): LowerParameters<T> => ({
  embedding,
  encoder: queryEncoder,
});

/** The input of the encoder. Padding (`mask` 0) is never attended to and can stand on either side. */
export interface EncoderInput<T> {
  /** int32 [batch, length] */
  readonly ids: T;
  /** float32 [batch, length], 1 for a token and 0 for padding */
  readonly mask: T;
  /** `positionBuckets(config, "encoder", length)` */
  readonly buckets: T;
}

/** The states below block B: -> [batch, length, modelSize]. */
export function lowerStates<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  input: EncoderInput<T>,
): T {
  return lowerBlocks(context, parameters, embed(context, parameters, input.ids), input);
}

/** Token embeddings: int32 [...] -> [..., modelSize]. */
export function embed<T>(
  { ops, dropout }: LayerContext<T>,
  parameters: LowerParameters<T>,
  ids: T,
): T {
  return dropout(ops.gather(parameters.embedding, ids));
}

/** The blocks below B over embedded tokens: [batch, length, modelSize] -> the same shape. */
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

/**
 * Query vectors (of a question) or keys (of a passage) of the retrieval head:
 * [batch, length, modelSize] -> [batch, length, headSize].
 */
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

/** The same for all heads of block B: -> [batch, heads, length, headSize]. */
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
