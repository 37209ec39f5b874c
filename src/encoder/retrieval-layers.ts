/**
 * Retrieval: layers that only retrieval uses, which ReAtt has none of, then the heads whose
 * attention Q K^T retrieves (ReAtt, section 2.2). Query vectors Q are of a question, keys K of a
 * passage. A model with pooling has one of them for each text, from all heads (pooling.ts).
 */

import { type ModelConfig, retrievalRows, vectorSize } from "../model/config.ts";
import { project, projectToHeads } from "../model/layers/attention.ts";
import type { LayerContext } from "../model/layers/context.ts";
import type { StackInput } from "../model/layers/layer-kind.ts";
import { runStacks } from "../model/layers/stacks.ts";
import type { HeadParameters, Projection, TextParameters } from "../model/parameters.ts";
import type { Ops } from "../tensor/ops.ts";
import { pool, unitVectors } from "./pooling.ts";
import { weightsOfTokens } from "./token-weights.ts";

/**
 * The states that the heads read: -> [batch, length, retrievalWidth].
 *
 * @param shared `sharedStates` of the texts
 */
export const retrievalStates = <T>(
  context: LayerContext<T>,
  text: TextParameters<T>,
  shared: T,
  input: StackInput<T>,
): T => runStacks(context, text.retrieval, shared, input);

/** Texts after the retrieval layers: states [batch, length, retrievalWidth]. */
export interface EncodedTexts<T> {
  readonly states: T;
  /** int32 [batch, length] */
  readonly ids: T;
  /** float32 [batch, length] */
  readonly mask: T;
}

/**
 * What retrieval compares: query vectors (of a question) or keys (of a passage),
 * [batch, vectors, vectorSize]. The vectors are those of the tokens in the retrieval heads, or with
 * pooling one for each text. All that depends on pooling follows from here. Query vectors include
 * the weights of their tokens.
 */
export function retrievalVectors<T>(
  context: LayerContext<T>,
  text: TextParameters<T>,
  texts: EncodedTexts<T>,
  side: "query" | "key",
): T {
  const { ops, config } = context;
  const { pooling } = config.retrievalAttention;
  const normed = normedStates(ops, text.heads, texts.states);
  const rows = pooling === undefined ? normed : pool(ops, pooling, normed, texts.mask);
  const projection = rowsOf(ops, text.heads[side], retrievalRows(config));
  const vectors = compared(context, project(ops, projection, rows), vectorSize(config));
  return side === "query" ? weighted(ops, text, vectors, texts) : vectors;
}

/** Vectors of the tokens in all heads, apart: -> [batch, heads, length, headSize]. */
export function headVectors<T>(
  context: LayerContext<T>,
  text: TextParameters<T>,
  texts: EncodedTexts<T>,
  side: "query" | "key",
): T {
  const { ops } = context;
  const { sizes, [side]: projection } = text.heads;
  const normed = normedStates(ops, text.heads, texts.states);
  const vectors = compared(context, projectToHeads(ops, projection, normed, sizes), sizes.headSize);
  return side === "query" ? weighted(ops, text, vectors, texts) : vectors;
}

/** What the projections of the heads read. */
export const normedStates = <T>(ops: Ops<T>, { norm, sizes }: HeadParameters<T>, states: T): T =>
  norm === undefined ? states : ops.rmsNorm(states, norm, sizes.layerNormEpsilon);

/** Some outputs of a projection. */
const rowsOf = <T>(
  ops: Ops<T>,
  { weight, bias }: Projection<T>,
  rows: [first: number, end: number],
): Projection<T> => ({
  weight: ops.slice(weight, 0, ...rows),
  ...(bias !== undefined && { bias: ops.slice(bias, 0, ...rows) }),
});

/**
 * Vectors of the tokens of questions times their weights, if the model has any:
 * [batch, length, size] or, of several heads, [batch, heads, length, size] -> the same.
 */
function weighted<T>(
  ops: Ops<T>,
  { tokenWeights }: TextParameters<T>,
  vectors: T,
  { ids, mask }: EncodedTexts<T>,
): T {
  if (tokenWeights === undefined) return vectors;
  const weights = weightsOfTokens(ops, tokenWeights, ids, mask);
  const [batch, length] = ops.shape(ids);
  const heads = ops.shape(vectors).length === 4 ? [1] : [];
  return ops.multiply(vectors, ops.reshape(weights, [batch!, ...heads, length!, 1]));
}

/** Vectors whose inner product is the similarity of the model: of length 1 for the cosine. */
const compared = <T>({ ops, config }: LayerContext<T>, vectors: T, size: number): T =>
  isCosine(config) ? unitVectors(ops, vectors, size) : vectors;

const isCosine = ({ retrievalAttention }: ModelConfig): boolean =>
  retrievalAttention.similarity === "cosine";
