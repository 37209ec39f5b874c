import type { Ops } from "../../tensor/ops.ts";
import type { ModelConfig } from "../config.ts";

/** What every layer needs besides its weights and its input. */
export interface LayerContext<T> {
  readonly ops: Ops<T>;
  readonly config: ModelConfig;
  /**
   * Drops numbers of `x`, whose last axis has a known size, at random in training; returns `x` itself otherwise. Stands
   * where T5 has it, but for attention weights: those would take a random number for every pair of tokens.
   */
  readonly dropout: (x: T) => T;
}

/** A context in which nothing is dropped. */
export const inferenceContext = <T>(ops: Ops<T>, config: ModelConfig): LayerContext<T> => ({
  ops,
  config,
  dropout: (x) => x,
});
