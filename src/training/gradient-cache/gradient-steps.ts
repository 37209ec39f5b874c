/**
 * The steps of the gradient cache (loss-graph.ts) on numbers. onnx-steps.ts and tensorflow-steps.ts compute them;
 * gradient-accumulator.ts goes through a batch with them.
 */

import type { Tensor } from "../../tensor/ops.ts";
import type { Chunk } from "../loss/batch.ts";
import type { ObjectiveName, ObjectiveOptions } from "../loss/graph-inputs.ts";
import type { TrainedOptions } from "../loss/trained-parameters.ts";

export interface StepOptions extends Omit<ObjectiveOptions, "objective">, TrainedOptions {
  /** Share of numbers that dropout sets to 0. */
  readonly dropout: number;
}

/** Tensors by name. */
export type Tensors = Readonly<Record<string, Tensor>>;

export interface GradientSteps {
  /** Step 1: `queries` and `keys` of a chunk. `dropout` holds the numbers of dropout.ts. */
  vectors(chunk: Chunk, dropout: Tensors): Promise<Tensors>;
  /**
   * Step 2, for the tensors of `competitionSignature`: `logNormaliser`, `queryGradient` and `keyGradient`. Adds the gradients
   * of the objective's own parameters.
   */
  competition(batch: Tensors): Promise<Tensors>;
  /**
   * Step 3: `nll` and what else `ChunkObjective` has of an objective. Adds the gradients of all trained parameters. `cache`
   * has the tensors of `cacheSignature`, unless the chunk is the whole batch.
   */
  objective(
    chunk: Chunk,
    dropout: Tensors,
    objective: ObjectiveName,
    cache?: Tensors,
  ): Promise<Tensors>;
}
