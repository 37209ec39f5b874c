/**
 * BERT's encoder (Devlin et al. 2019, https://arxiv.org/abs/1810.04805): absolute positions,
 * biases, and the norm after each layer. It can stand below the first block of the encoder, as a
 * backbone that was pretrained for search (Reimers and Gurevych 2019, Sentence-BERT). Its last
 * layers can stand twice: for retrieval over one text, and for reading over a question with a
 * passage (`Backbone.jointLayers`).
 *
 * GELU is the tanh approximation, which differs from BERT's by less than 5e-4.
 */

import type { Ops } from "../../tensor/ops.ts";
import type { Backbone } from "../config.ts";
import type { AffineParameters, BackboneParameters, BertBlockParameters } from "../parameters.ts";
import {
  attentionScores,
  type HeadSizes,
  linear,
  maskBias,
  meanValues,
  splitHeads,
} from "./attention.ts";
import type { LayerContext } from "./context.ts";

/**
 * The states after the layers below the joint layers, or after all if there are none: word vectors
 * [batch, length, modelSize], mask [batch, length] -> [batch, length, modelSize]. The position of a
 * token is the number of tokens before it, so padding can stand on either side.
 */
export function bertStates<T>(
  context: LayerContext<T>,
  parameters: BackboneParameters<T>,
  words: T,
  mask: T,
): T {
  const { ops, config, dropout } = context;
  const positions = ops.gather(parameters.positions, ops.sumBefore(mask));
  const sum = ops.add(words, positions);
  const normed = layerNorm(ops, parameters.embeddingNorm, sum, config.backbone!.layerNormEpsilon);
  const { layers, jointLayers } = config.backbone!;
  const blocks = parameters.blocks.slice(0, layers - jointLayers);
  return bertBlocks(context, blocks, dropout(normed), mask);
}

/** Runs blocks one after the other: states [batch, length, modelSize], mask [batch, length]. */
export function bertBlocks<T>(
  context: LayerContext<T>,
  blocks: readonly BertBlockParameters<T>[],
  states: T,
  mask: T,
): T {
  const bias = maskBias(context.ops, mask);
  return blocks.reduce((x, block) => bertBlock(context, block, x, bias), states);
}

/** `y = norm(x + attention(x)); norm(y + feedForward(y))` */
function bertBlock<T>(context: LayerContext<T>, block: BertBlockParameters<T>, x: T, bias: T): T {
  const { ops, config, dropout } = context;
  const backbone = config.backbone!;
  const normed = (norm: AffineParameters<T>, a: T, b: T): T =>
    layerNorm(ops, norm, ops.add(a, dropout(b)), backbone.layerNormEpsilon);
  const sizes = headSizes(backbone, config.modelSize);
  const y = normed(block.attentionNorm, x, selfAttention(ops, block, x, bias, sizes));
  const inner = ops.geluTanh(affine(ops, block.inner, y));
  return normed(block.outerNorm, y, affine(ops, block.outer, inner));
}

const headSizes = ({ heads }: Backbone, modelSize: number): HeadSizes => ({
  heads,
  headSize: modelSize / heads,
});

function selfAttention<T>(
  ops: Ops<T>,
  { attention }: BertBlockParameters<T>,
  x: T,
  bias: T,
  sizes: HeadSizes,
): T {
  const [query, key, value] = [attention.query, attention.key, attention.value].map((layer) =>
    splitHeads(ops, affine(ops, layer, x), sizes),
  ) as [T, T, T];
  const scaled = ops.multiply(attentionScores(ops, query, key), ops.scalar(sizes.headSize ** -0.5));
  const means = meanValues(ops, ops.add(scaled, bias), value, sizes);
  return affine(ops, attention.output, means);
}

/** `x W^T + b` */
const affine = <T>(ops: Ops<T>, { weight, bias }: AffineParameters<T>, x: T): T =>
  ops.add(linear(ops, weight, x), bias);

/** `(x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias` over the last axis */
function layerNorm<T>(
  ops: Ops<T>,
  { weight, bias }: AffineParameters<T>,
  x: T,
  epsilon: number,
): T {
  const centred = ops.subtract(x, ops.mean(x, [-1], { keep: true }));
  return ops.add(ops.rmsNorm(centred, weight, epsilon), bias);
}
