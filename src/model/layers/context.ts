/** The context that layers are functions of. */

import type { Ops } from "../../tensor/ops.ts";
import type { ModelConfig } from "../config.ts";

/** What a layer needs in addition to its weights and its input. */
export interface LayerContext<T> {
  readonly ops: Ops<T>;
  readonly config: ModelConfig;
  /**
   * Dropout in training: sets random values of `x`, whose last axis has a known size, to 0.
   * Otherwise it returns `x`. It is applied where T5 applies it, except to attention weights, which
   * would need a random value for each pair of tokens.
   */
  readonly dropout: (x: T) => T;
}

/** A context without dropout. */
export const inferenceContext = <T>(ops: Ops<T>, config: ModelConfig): LayerContext<T> => ({
  ops,
  config,
  dropout: (x) => x,
});
