/**
 * The weights of a T5 encoder-decoder as a plain typed tree.
 *
 * `T` is the type of a leaf: a name, a shape, the values of a tensor, a value of a graph, a
 * gradient. Linear weights are [out, in], as in every Hugging Face checkpoint.
 */

/**
 * Multi-head attention: `query`, `key` and `value` are [heads * headSize, modelSize], `output` is
 * [modelSize, heads * headSize].
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
 * `gate` and `inner` are [feedForwardSize, modelSize], `outer` is [modelSize, feedForwardSize].
 */
export type FeedForwardParameters<T> =
  | { readonly kind: "relu" | "gelu_new"; readonly inner: T; readonly outer: T }
  | { readonly kind: "gated-gelu"; readonly gate: T; readonly inner: T; readonly outer: T };

/** The norms are [modelSize]. Each is applied before the layer of its name. */
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

/**
 * A stack of blocks. All of them share `relativeBias` [relativeBuckets, heads]; `finalNorm`
 * [modelSize] follows the last block.
 */
export interface StackParameters<Block, T> {
  readonly blocks: readonly Block[];
  readonly relativeBias: T;
  readonly finalNorm: T;
}

export interface EncoderParameters<T> extends StackParameters<EncoderBlockParameters<T>, T> {
  /** Only of a model with a BERT encoder below its first block. */
  readonly backbone?: BackboneParameters<T>;
  /** [vocabularySize]: the log weights of tokens of questions (encoder/token-weights.ts) */
  readonly tokenWeights?: T;
  /** The layers of the backbone that read a question with a passage, if it has any. */
  readonly jointBlocks?: readonly BertBlockParameters<T>[];
}

/** A weight [out, in] and a bias [out]; of a norm, both are [modelSize]. */
export interface AffineParameters<T> {
  readonly weight: T;
  readonly bias: T;
}

/**
 * A block of BERT. `attention` is [modelSize, modelSize], `inner` [feedForwardSize, modelSize],
 * `outer` [modelSize, feedForwardSize]. Each norm is applied after the layer of its name.
 */
export interface BertBlockParameters<T> {
  readonly attention: Readonly<Record<"query" | "key" | "value" | "output", AffineParameters<T>>>;
  readonly attentionNorm: AffineParameters<T>;
  readonly inner: AffineParameters<T>;
  readonly outer: AffineParameters<T>;
  readonly outerNorm: AffineParameters<T>;
}

/** A BERT encoder without its word vectors. `positions` is [positions, modelSize]. */
export interface BackboneParameters<T> {
  readonly positions: T;
  readonly embeddingNorm: AffineParameters<T>;
  readonly blocks: readonly BertBlockParameters<T>[];
}

export interface DecoderParameters<T> extends StackParameters<DecoderBlockParameters<T>, T> {
  /** [1, modelSize]: the gate of a decoder that copies (decoder/copying.ts) */
  readonly copyGate?: T;
}

/**
 * A query vector that is compared with the first, or with the last, token of phrases
 * (encoder/phrase-queries.ts): `pool` is [heads, modelSize], `projection` is
 * [vectorSize, heads * modelSize].
 */
export interface PhraseQueryParameters<T> {
  readonly pool: T;
  readonly projection: T;
}

/** `embedding` and `outputEmbedding` are [vocabularySize, modelSize]; tied, they are one leaf. */
export interface ModelParameters<T> {
  readonly embedding: T;
  readonly encoder: EncoderParameters<T>;
  /**
   * The weights that make query vectors: `encoder` itself, or a query encoder with its own lower
   * layers and its own first norm and query projection of block B. It has no blocks above B.
   */
  readonly queryEncoder: EncoderParameters<T>;
  /** Only of a model with phrase queries. */
  readonly phraseQueries?: {
    readonly start: PhraseQueryParameters<T>;
    readonly end: PhraseQueryParameters<T>;
  };
  readonly decoder: DecoderParameters<T>;
  readonly outputEmbedding: T;
}
