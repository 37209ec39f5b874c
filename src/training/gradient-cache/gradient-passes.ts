/**
 * The three passes of the gradient cache on tensors. gradient-cache.ts explains and calls them.
 * engine/onnx-passes.ts and engine/tensorflow-passes.ts compute them.
 */

import type { Tensor } from "../../tensor/ops.ts";
import type { Chunk } from "../loss/batch.ts";
import type { NormaliserOptions } from "../loss/normaliser-bias.ts";
import type { LossGraphOptions, ObjectiveName } from "../loss/options.ts";
import type { TrainedOptions } from "../loss/trained-parameters.ts";

export interface GradientOptions
  extends Omit<LossGraphOptions, "objective">,
    TrainedOptions,
    NormaliserOptions {
  /** Divides given scores. Default 1. */
  readonly scoreTemperature?: number | undefined;
  /** Share of values that dropout sets to 0. */
  readonly dropout: number;
}

/** Tensors by name. */
export type Tensors = Readonly<Record<string, Tensor>>;

/** What the passes read of a chunk. */
export type ComputedChunk = Omit<Chunk, "sequences" | "passages">;

/** The passes over one chunk. */
export interface ChunkPasses {
  /**
   * Pass 1: `queries` and `keys` of a chunk, and states that pass 3 begins with. `dropout` has the
   * inputs of loss/dropout.ts.
   */
  vectors(chunk: ComputedChunk, dropout: Tensors): Promise<Tensors>;
  /**
   * Pass 3: the losses of a chunk (`namedLosses`). Adds the gradients of all trained parameters.
   * `cache` has the tensors of `cacheInputs`, where the loss needs passages of other chunks.
   */
  loss(
    chunk: ComputedChunk,
    dropout: Tensors,
    objective: ObjectiveName,
    cache?: Tensors,
  ): Promise<Tensors>;
}

export interface GradientPasses extends ChunkPasses {
  /**
   * Pass 2: `logNormaliser`, `queryGradient` and `keyGradient` of the batch, from the tensors of
   * `normaliserInputs`. Adds the gradients of the learned scalars.
   */
  normaliser(batch: Tensors): Promise<Tensors>;
  /**
   * Runs `work` with several passes, each of which can compute a chunk while the others do. Adds
   * their gradients. Without it, chunks are computed one after the other.
   */
  inParallel?<T>(work: (workers: readonly ChunkPasses[]) => Promise<T>): Promise<T>;
}
