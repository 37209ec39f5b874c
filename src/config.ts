/** The shape of a model: what `config.json` of a Hugging Face T5 folder says, in our words. */

/** Sizes and choices of a T5 encoder-decoder with a retrieval head. */
export interface ModelConfig {
  readonly vocabularySize: number;
  /** Width of the residual stream (`d_model`). */
  readonly modelSize: number;
  /** Width of one head (`d_kv`); `heads * headSize` need not equal `modelSize`. */
  readonly headSize: number;
  readonly heads: number;
  /** Inner width of the feed-forward layers (`d_ff`). */
  readonly feedForwardSize: number;
  readonly encoderLayers: number;
  readonly decoderLayers: number;
  /** T5 v1.0 has `relu`, v1.1 has `gated-gelu` (tanh approximation). */
  readonly feedForward: "relu" | "gated-gelu";
  /** True where the embedding is also the output layer; then the decoder output is scaled by `modelSize ** -0.5`. */
  readonly tied: boolean;
  readonly relativeBuckets: number;
  readonly relativeMaxDistance: number;
  readonly layerNormEpsilon: number;
  readonly dropoutRate: number;
  readonly padId: number;
  readonly eosId: number;
  readonly decoderStartId: number;
  /** B of the paper: the encoder block, 0-based, whose self-attention is the retrieval attention. Blocks below it see question or passage alone. */
  readonly retrievalLayer: number;
  /** The head of that block whose attention is the retrieval score. */
  readonly retrievalHead: number;
  /** Temperature of the softmax over head weights while the head is being learned. */
  readonly distillationTau: number;
  /** The learned `exp(s)` by which training multiplies retrieval scores; search does not need it. */
  readonly retrievalScale: number;
}
