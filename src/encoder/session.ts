/** The lower encoder layers as they run: token ids in, states and retrieval vectors out. */

import type { ModelConfig } from "../config.ts";
import { positionBuckets } from "../layers/relative-position.ts";
import { inferenceScope } from "../layers/scope.ts";
import type { Tensor } from "../tensor/ops.ts";
import { type CompileOptions, compile } from "../tensor/session.ts";
import { type Graph, trace } from "../tensor/trace.ts";
import { buildParameters } from "../weights/names.ts";
import { lowerStates, retrievalVectors } from "./lower.ts";

/** What the lower layers can be asked for, each [batch, length, size]. */
export type LowerOutput = "states" | "queries" | "keys";

/** Token ids and mask of sequences made equally long, int32 and float32 [batch, length]. */
export interface PaddedBatch {
  readonly ids: Tensor;
  readonly mask: Tensor;
}

/** Pads sequences of token ids to the length of the longest. */
export function padBatch(
  sequences: readonly ArrayLike<number>[],
  side: "left" | "right",
  padId: number,
): PaddedBatch {
  const length = Math.max(...sequences.map((sequence) => sequence.length));
  const shape = [sequences.length, length];
  const ids = new Int32Array(sequences.length * length).fill(padId);
  const mask = new Float32Array(ids.length);
  sequences.forEach((sequence, row) => {
    const start = row * length + (side === "left" ? length - sequence.length : 0);
    ids.set(sequence, start);
    mask.fill(1, start, start + sequence.length);
  });
  return { ids: { data: ids, shape }, mask: { data: mask, shape } };
}

/** `ids`, `mask`, `buckets` -> `states`, `queries`, `keys`. */
export function traceLower(config: ModelConfig): Graph {
  return trace(
    {
      ids: ["int32", "batch", "length"],
      mask: ["float32", "batch", "length"],
      buckets: ["int32", "length", "length"],
    },
    (ops, input) => {
      const scope = inferenceScope(ops, config);
      const parameters = buildParameters(config, (name, shape) => ops.parameter(name, shape));
      const states = lowerStates(scope, parameters, input);
      return {
        states,
        queries: retrievalVectors(scope, parameters, states, "query"),
        keys: retrievalVectors(scope, parameters, states, "key"),
      };
    },
  );
}

export interface EncoderSession extends AsyncDisposable {
  lower<Output extends LowerOutput>(
    batch: PaddedBatch,
    outputs: readonly Output[],
  ): Promise<Record<Output, Tensor>>;
}

export async function openEncoder(config: ModelConfig, options: CompileOptions): Promise<EncoderSession> {
  const session = await compile(traceLower(config), options);
  return {
    lower: ({ ids, mask }, outputs) =>
      session.run({ ids, mask, buckets: positionBuckets(config, "encoder", ids.shape[1]!) }, outputs),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}
