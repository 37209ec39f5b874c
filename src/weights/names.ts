/**
 * Which weights a model has: the one table of our parameter tree, the names in a Hugging Face T5 checkpoint, and the shapes.
 *
 * Source: Hugging Face transformers, `T5ForConditionalGeneration`; the checkpoints of google/t5-* and neulab/reatt-*.
 */

import type { ModelConfig } from "../config.ts";
import type {
  AttentionParameters,
  DecoderBlockParameters,
  EncoderBlockParameters,
  FeedForwardParameters,
  ModelParameters,
} from "./parameters.ts";

/** Makes what stands for one weight, given its name in the checkpoint and its shape. */
export type Leaf<T> = (name: string, shape: readonly number[]) => T;

/**
 * The parameter tree of a model, each leaf made by `leaf`.
 *
 * `leaf` is called once for every name in the checkpoint: tied embeddings are one leaf in two places.
 * `buildParameters(config, (name) => name)` is the table of names.
 */
export function buildParameters<T>(config: ModelConfig, leaf: Leaf<T>): ModelParameters<T> {
  const { modelSize, heads, relativeBuckets, encoderLayers, decoderLayers } = config;
  const embeddingShape = [config.vocabularySize, modelSize];
  const embedding = leaf("shared.weight", embeddingShape);
  const stack = <Block>(name: string, layers: number, block: (name: string) => Block) => ({
    blocks: Array.from({ length: layers }, (_, n) => block(`${name}.block.${n}`)),
    relativeBias: leaf(`${name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight`, [
      relativeBuckets,
      heads,
    ]),
    finalNorm: leaf(`${name}.final_layer_norm.weight`, [modelSize]),
  });
  return {
    embedding,
    encoder: stack("encoder", encoderLayers, (name) => encoderBlock(config, leaf, name)),
    decoder: stack("decoder", decoderLayers, (name) => decoderBlock(config, leaf, name)),
    outputEmbedding: config.tied ? embedding : leaf("lm_head.weight", embeddingShape),
  };
}

/** Every weight a model has: its name in the checkpoint -> its shape. */
export function parameterShapes(config: ModelConfig): Map<string, readonly number[]> {
  const shapes = new Map<string, readonly number[]>();
  buildParameters(config, (name, shape) => shapes.set(name, shape));
  return shapes;
}

function encoderBlock<T>(config: ModelConfig, leaf: Leaf<T>, block: string): EncoderBlockParameters<T> {
  return {
    attentionNorm: leaf(`${block}.layer.0.layer_norm.weight`, [config.modelSize]),
    attention: attention(config, leaf, `${block}.layer.0.SelfAttention`),
    feedForwardNorm: leaf(`${block}.layer.1.layer_norm.weight`, [config.modelSize]),
    feedForward: feedForward(config, leaf, `${block}.layer.1.DenseReluDense`),
  };
}

function decoderBlock<T>(config: ModelConfig, leaf: Leaf<T>, block: string): DecoderBlockParameters<T> {
  return {
    selfAttentionNorm: leaf(`${block}.layer.0.layer_norm.weight`, [config.modelSize]),
    selfAttention: attention(config, leaf, `${block}.layer.0.SelfAttention`),
    crossAttentionNorm: leaf(`${block}.layer.1.layer_norm.weight`, [config.modelSize]),
    crossAttention: attention(config, leaf, `${block}.layer.1.EncDecAttention`),
    feedForwardNorm: leaf(`${block}.layer.2.layer_norm.weight`, [config.modelSize]),
    feedForward: feedForward(config, leaf, `${block}.layer.2.DenseReluDense`),
  };
}

function attention<T>(config: ModelConfig, leaf: Leaf<T>, layer: string): AttentionParameters<T> {
  const { modelSize } = config;
  const attentionSize = config.heads * config.headSize;
  return {
    query: leaf(`${layer}.q.weight`, [attentionSize, modelSize]),
    key: leaf(`${layer}.k.weight`, [attentionSize, modelSize]),
    value: leaf(`${layer}.v.weight`, [attentionSize, modelSize]),
    output: leaf(`${layer}.o.weight`, [modelSize, attentionSize]),
  };
}

function feedForward<T>(config: ModelConfig, leaf: Leaf<T>, layer: string): FeedForwardParameters<T> {
  const widen = [config.feedForwardSize, config.modelSize];
  const narrow = [config.modelSize, config.feedForwardSize];
  if (config.feedForward === "relu") {
    return {
      kind: "relu",
      inner: leaf(`${layer}.wi.weight`, widen),
      outer: leaf(`${layer}.wo.weight`, narrow),
    };
  }
  return {
    kind: "gated-gelu",
    gate: leaf(`${layer}.wi_0.weight`, widen),
    inner: leaf(`${layer}.wi_1.weight`, widen),
    outer: leaf(`${layer}.wo.weight`, narrow),
  };
}
