/**
 * The weights of a T5 encoder-decoder as a plain typed tree.
 *
 * `T` is whatever stands for one weight: its name, its shape, its numbers, a value of a graph, a gradient. Linear weights
 * are [out, in], as in every Hugging Face checkpoint.
 */

/** Multi-head attention: `query`, `key`, `value` [heads * headSize, modelSize], `output` [modelSize, heads * headSize]. */
export interface AttentionParameters<T> {
  readonly query: T;
  readonly key: T;
  readonly value: T;
  readonly output: T;
}

/**
 * `relu`: outer · relu(inner · x). `gated-gelu`: outer · (gelu(gate · x) ⊙ inner · x).
 *
 * `gate` and `inner` are [feedForwardSize, modelSize], `outer` is [modelSize, feedForwardSize].
 */
export type FeedForwardParameters<T> =
  | { readonly kind: "relu"; readonly inner: T; readonly outer: T }
  | { readonly kind: "gated-gelu"; readonly gate: T; readonly inner: T; readonly outer: T };

/** The norms are [modelSize] and stand before the layer they are named after. */
export interface EncoderBlockParameters<T> {
  readonly attentionNorm: T;
  readonly attention: AttentionParameters<T>;
  readonly feedForwardNorm: T;
  readonly feedForward: FeedForwardParameters<T>;
}

export interface DecoderBlockParameters<T> {
  readonly selfAttentionNorm: T;
  readonly selfAttention: AttentionParameters<T>;
  readonly crossAttentionNorm: T;
  readonly crossAttention: AttentionParameters<T>;
  readonly feedForwardNorm: T;
  readonly feedForward: FeedForwardParameters<T>;
}

/** A stack of blocks, the bias [relativeBuckets, heads] that all of them share, and the norm [modelSize] after the last. */
export interface StackParameters<Block, T> {
  readonly blocks: readonly Block[];
  readonly relativeBias: T;
  readonly finalNorm: T;
}

export type EncoderParameters<T> = StackParameters<EncoderBlockParameters<T>, T>;

export type DecoderParameters<T> = StackParameters<DecoderBlockParameters<T>, T>;

/** `embedding` and `outputEmbedding` are [vocabularySize, modelSize], and one and the same where they are tied. */
export interface ModelParameters<T> {
  readonly embedding: T;
  readonly encoder: EncoderParameters<T>;
  /**
   * What query vectors are made by: `encoder` itself, or its lower layers, block B's first norm and B's query projection with
   * weights of their own. It has no blocks above B.
   */
  readonly queryEncoder: EncoderParameters<T>;
  readonly decoder: DecoderParameters<T>;
  readonly outputEmbedding: T;
}
