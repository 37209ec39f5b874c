/**
 * Layers of T5 (Raffel et al. 2020; the gated form of v1.1: Shazeer 2020), with the norm before
 * each part and relative positions.
 *
 * Attention scores are not divided by the square root of the head size: T5 has that in its weights.
 * Source of the initial values: `T5PreTrainedModel._init_weights` of Hugging Face transformers with
 * `initializer_factor` 1.
 */

import type { Leaf } from "../leaf.ts";
import type {
  AttentionParameters,
  FeedForwardParameters,
  HeadSizes,
  T5Layer,
} from "../parameters.ts";
import type { StackOf } from "../stack.ts";
import { attentionScores, linear, maskBias, meanValues, projectToHeads } from "./attention.ts";
import type { LayerContext } from "./context.ts";
import type { LayerKind, NormedMatrices } from "./layer-kind.ts";
import { relativeBias, relativeBiasLeaf } from "./relative-position.ts";

/** The sizes of T5's layers, in an encoder or in a decoder. */
export interface T5Sizes extends HeadSizes {
  readonly width: number;
  readonly feedForwardSize: number;
  readonly feedForward: StackOf<"t5">["feedForward"];
  readonly layerNormEpsilon: number;
}

export const T5: LayerKind<"t5"> = {
  parameters: (sizes, leaf, { stack, bias, relativeBuckets }) => ({
    sizes,
    relativeBias: relativeBiasLeaf(leaf, bias, relativeBuckets, sizes),
    layers: Array.from({ length: sizes.layers }, (_, n) =>
      layerLeaves(leaf, `${stack}.layer.${n}`, sizes),
    ),
  }),
  embed: ({ dropout }, _, words) => dropout(words),
  run(context, { sizes, layers, relativeBias: table }, x, { mask, buckets }) {
    const { ops } = context;
    const bias = ops.add(relativeBias(ops, table, buckets), maskBias(ops, mask));
    return layers.reduce((states, layer) => t5Layer(context, sizes, layer, states, bias), x);
  },
  heads({ sizes, layers: [first] }) {
    const { attentionNorm: norm, attention } = first!;
    return { sizes, norm, query: { weight: attention.query }, key: { weight: attention.key } };
  },
  normed: ({ layers }) => layers.flatMap(normedMatrices),
};

function layerLeaves<T>(leaf: Leaf<T>, name: string, sizes: T5Sizes): T5Layer<T> {
  return {
    attentionNorm: leaf(`${name}.layer.0.layer_norm.weight`, [sizes.width], "ones"),
    feedForwardNorm: leaf(`${name}.layer.1.layer_norm.weight`, [sizes.width], "ones"),
    attention: attentionLeaves(leaf, `${name}.layer.0.SelfAttention`, sizes),
    feedForward: feedForwardLeaves(leaf, `${name}.layer.1.DenseReluDense`, sizes),
  };
}

/** T5 divides the deviation of queries by the root of the head size, in place of scores. */
export function attentionLeaves<T>(
  leaf: Leaf<T>,
  name: string,
  { width, heads, headSize }: T5Sizes,
): AttentionParameters<T> {
  const size = heads * headSize;
  return {
    query: leaf(`${name}.q.weight`, [size, width], (width * headSize) ** -0.5),
    key: leaf(`${name}.k.weight`, [size, width], width ** -0.5),
    value: leaf(`${name}.v.weight`, [size, width], width ** -0.5),
    output: leaf(`${name}.o.weight`, [width, size], size ** -0.5),
  };
}

export function feedForwardLeaves<T>(
  leaf: Leaf<T>,
  name: string,
  { width, feedForwardSize, feedForward }: T5Sizes,
): FeedForwardParameters<T> {
  const widen = (part: string): T =>
    leaf(`${name}.${part}.weight`, [feedForwardSize, width], width ** -0.5);
  const narrow = (): T =>
    leaf(`${name}.wo.weight`, [width, feedForwardSize], feedForwardSize ** -0.5);
  if (feedForward === "gated-gelu")
    return { kind: feedForward, gate: widen("wi_0"), inner: widen("wi_1"), outer: narrow() };
  return { kind: feedForward, inner: widen("wi"), outer: narrow() };
}

/** `x += attention(norm(x)); x += feedForward(norm(x))` */
export function t5Layer<T>(
  context: LayerContext<T>,
  sizes: T5Sizes,
  layer: T5Layer<T>,
  x: T,
  bias: T,
): T {
  const { ops, dropout } = context;
  const attended = ops.add(x, dropout(attentionPart(context, sizes, layer, x, bias)));
  const normed = ops.rmsNorm(attended, layer.feedForwardNorm, sizes.layerNormEpsilon);
  return ops.add(attended, dropout(feedForward(context, layer.feedForward, normed)));
}

/**
 * What the self-attention adds to x [batch, length, width]. bias [batch or 1, heads, length,
 * length] is added to the attention scores.
 */
function attentionPart<T>(
  { ops }: LayerContext<T>,
  sizes: T5Sizes,
  { attentionNorm, attention }: T5Layer<T>,
  x: T,
  bias: T,
): T {
  const normed = ops.rmsNorm(x, attentionNorm, sizes.layerNormEpsilon);
  const [query, key, value] = [attention.query, attention.key, attention.value].map((weight) =>
    projectToHeads(ops, { weight }, normed, sizes),
  ) as [T, T, T];
  const scores = ops.add(attentionScores(ops, query, key), bias);
  return linear(ops, attention.output, meanValues(ops, scores, value, sizes));
}

/** The feed-forward layer: [..., width] -> [..., width]. */
export function feedForward<T>(
  { ops, dropout }: LayerContext<T>,
  layer: FeedForwardParameters<T>,
  x: T,
): T {
  const inner = linear(ops, layer.inner, x);
  if (layer.kind === "gated-gelu") {
    const gated = ops.multiply(ops.geluTanh(linear(ops, layer.gate, x)), inner);
    return linear(ops, layer.outer, dropout(gated));
  }
  const activated = layer.kind === "relu" ? ops.relu(inner) : ops.geluTanh(inner);
  return linear(ops, layer.outer, dropout(activated));
}

function normedMatrices(layer: T5Layer<string>): NormedMatrices[] {
  const { query, key, value } = layer.attention;
  return [
    { norm: layer.attentionNorm, matrices: [query, key, value] },
    { norm: layer.feedForwardNorm, matrices: firstMatrices(layer.feedForward) },
  ];
}

/** The matrices of a feed-forward layer that read its input. */
export const firstMatrices = (layer: FeedForwardParameters<string>): string[] =>
  layer.kind === "gated-gelu" ? [layer.gate, layer.inner] : [layer.inner];
