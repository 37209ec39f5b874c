/**
 * The weights of a model as a plain typed tree.
 *
 * `T` is the type of a leaf: a name, a shape, the values of a tensor, a value of a graph, a
 * gradient. Linear weights are [out, in], as in every Hugging Face checkpoint.
 */

import type { LayerKindName, StackOf } from "./stack.ts";

/** A weight [out, in], and a bias [out] if there is one. */
export interface Projection<T> {
  readonly weight: T;
  readonly bias?: T;
}

/** A weight [out, in] and a bias [out]; of a norm, both are [width]. */
export interface AffineParameters<T> extends Projection<T> {
  readonly bias: T;
}

/**
 * Multi-head attention of T5: `query`, `key` and `value` are [heads * headSize, width], `output` is
 * [width, heads * headSize].
 */
export interface AttentionParameters<T> {
  readonly query: T;
  readonly key: T;
  readonly value: T;
  readonly output: T;
}

/**
 * `relu`: outer · relu(inner · x). `gelu_new`: outer · gelu(inner · x). `gated-gelu`:
 * outer · (gelu(gate · x) ⊙ inner · x).
 *
 * `gate` and `inner` are [feedForwardSize, width], `outer` is [width, feedForwardSize].
 */
export type FeedForwardParameters<T> =
  | { readonly kind: "relu" | "gelu_new"; readonly inner: T; readonly outer: T }
  | { readonly kind: "gated-gelu"; readonly gate: T; readonly inner: T; readonly outer: T };

/** A layer of T5's encoder. The norms are [width]. Each is applied before the part of its name. */
export interface T5Layer<T> {
  readonly attentionNorm: T;
  readonly feedForwardNorm: T;
  readonly attention: AttentionParameters<T>;
  readonly feedForward: FeedForwardParameters<T>;
}

/**
 * A layer of BERT. `attention` is [width, width], `inner` [feedForwardSize, width], `outer`
 * [width, feedForwardSize]. Each norm is applied after the part of its name.
 */
export interface BertLayer<T> {
  readonly attention: Readonly<Record<"query" | "key" | "value" | "output", AffineParameters<T>>>;
  readonly attentionNorm: AffineParameters<T>;
  readonly inner: AffineParameters<T>;
  readonly outer: AffineParameters<T>;
  readonly outerNorm: AffineParameters<T>;
}

interface StackTree<Kind extends LayerKindName, T> {
  readonly sizes: StackOf<Kind>;
  /** [width, width of the states that the stack reads] */
  readonly inputMap?: AffineParameters<T>;
}

/** All layers share `relativeBias` [relativeBuckets, heads]. */
export interface T5Layers<T> extends StackTree<"t5", T> {
  readonly relativeBias: T;
  readonly layers: readonly T5Layer<T>[];
}

export interface BertLayers<T> extends StackTree<"bert", T> {
  /** What is added to word vectors, [positions, width], and the norm of the sum. */
  readonly embeddings?: { readonly positions: T; readonly norm: AffineParameters<T> };
  readonly layers: readonly BertLayer<T>[];
}

/** The weights of a stack, by the kind of its layers. */
export interface StacksOf<T> {
  readonly t5: T5Layers<T>;
  readonly bert: BertLayers<T>;
}

export type StackParameters<T> = StacksOf<T>[LayerKindName];

/**
 * The projections of the heads of an attention layer, [heads * headSize, width]. With a norm
 * [width], they read the states divided by their root mean square, as in T5.
 */
export interface HeadParameters<T> {
  readonly sizes: HeadSizes & { readonly layerNormEpsilon: number };
  readonly norm?: T;
  readonly query: Projection<T>;
  readonly key: Projection<T>;
}

export interface HeadSizes {
  readonly heads: number;
  readonly headSize: number;
}

export interface DecoderLayer<T> {
  readonly selfAttentionNorm: T;
  readonly selfAttention: AttentionParameters<T>;
  readonly crossAttentionNorm: T;
  readonly crossAttention: AttentionParameters<T>;
  readonly feedForwardNorm: T;
  readonly feedForward: FeedForwardParameters<T>;
}

export interface DecoderParameters<T> {
  readonly layers: readonly DecoderLayer<T>[];
  /** [relativeBuckets, heads], of all layers */
  readonly relativeBias: T;
  /** [modelSize], after the last layer */
  readonly finalNorm: T;
  /** [1, modelSize]: the gate of a decoder that copies (decoder/copying.ts) */
  readonly copyGate?: T;
}

/**
 * A query vector that is compared with the first, or with the last, token of phrases
 * (encoder/phrase-queries.ts): `pool` is [pools, width], `projection` is
 * [vectorSize, pools * width].
 */
export interface PhraseQueryParameters<T> {
  readonly pool: T;
  readonly projection: T;
}

/** What encodes a text alone and makes the vectors that retrieval compares. */
export interface TextParameters<T> {
  /** [vocabularySize, modelSize] */
  readonly embedding: T;
  readonly shared: readonly StackParameters<T>[];
  readonly retrieval: readonly StackParameters<T>[];
  /** Of the retrieval attention: leaves of the joint layer that has these heads, or its own. */
  readonly heads: HeadParameters<T>;
  /** [vocabularySize]: the log weights of tokens of questions (encoder/token-weights.ts) */
  readonly tokenWeights?: T;
}

export interface ModelParameters<T> extends TextParameters<T> {
  readonly joint: readonly StackParameters<T>[];
  /** [modelSize]: of the states that the decoder attends to */
  readonly finalNorm: T;
  readonly decoder: DecoderParameters<T>;
  /** [vocabularySize, modelSize]; tied, it is the leaf of the embedding */
  readonly outputEmbedding: T;
  /**
   * What makes query vectors: the same leaves, or a query encoder, which has the last text-only
   * layers, the norm and the query projection of the heads for itself.
   */
  readonly querySide: TextParameters<T>;
  /** Only of a model with phrase queries. */
  readonly phraseQueries?: {
    readonly start: PhraseQueryParameters<T>;
    readonly end: PhraseQueryParameters<T>;
  };
}
