/** Runs the joint layers over pairs of a question and a passage. */

import { type ModelConfig, sharedWidth } from "../model/config.ts";
import { inferenceContext } from "../model/layers/context.ts";
import { positionBuckets } from "../model/layers/relative-position.ts";
import { buildParameters } from "../model/parameter-names.ts";
import type { Tensor } from "../tensor/ops.ts";
import type { Session } from "../tensor/session.ts";
import { type Graph, trace } from "../tensor/trace.ts";
import { batchesByLength, TOKENS_PER_BATCH } from "./batching.ts";
import { jointStates } from "./joint-layers.ts";

/** States of a question and one of its passages after the shared layers: [length, sharedWidth]. */
export interface PairStates {
  readonly question: Float32Array;
  readonly passage: Float32Array;
}

/** What one run returns. */
export interface PairBatch {
  /** The positions of the pairs of this run. */
  readonly positions: readonly number[];
  /** [pairs, length, modelSize], in the order of `positions`, padded on the right */
  readonly states: Tensor;
}

/** `states`, `mask`, `buckets` (`PairInput`) -> `states` [pairs, length, modelSize]. */
export function traceJoint(config: ModelConfig): Graph {
  return trace(
    {
      states: ["float32", "pairs", "length", sharedWidth(config)],
      mask: ["float32", "pairs", "length"],
      buckets: ["int32", "length", "length"],
    },
    (ops, input) => {
      const context = inferenceContext(ops, config);
      const parameters = buildParameters(config, (name, shape) => ops.parameter(name, shape));
      return { states: jointStates(context, parameters, input) };
    },
  );
}

/**
 * Runs the graph of {@link traceJoint} over all pairs. Pairs of similar length share a run, also
 * pairs of different questions.
 *
 * @param joint the compiled graph of {@link traceJoint}
 * @throws the reason of `signal` once it is aborted.
 */
export async function* encodePairs(
  config: ModelConfig,
  joint: Session,
  pairs: readonly PairStates[],
  signal?: AbortSignal,
): AsyncGenerator<PairBatch, void> {
  const lengths = pairs.map((pair) => pairLength(config, pair));
  for (const positions of batchesByLength(lengths, TOKENS_PER_BATCH)) {
    signal?.throwIfAborted();
    const together = positions.map((i) => pairs[i]!);
    const { states } = await joint.run<"states">(padPairs(config, together));
    yield { positions, states };
  }
}

/** The number of tokens of a pair. */
export const pairLength = (config: ModelConfig, { question, passage }: PairStates): number =>
  (question.length + passage.length) / sharedWidth(config);

/** Joins each question with its passage and pads the pairs on the right. */
function padPairs(
  config: ModelConfig,
  pairs: readonly PairStates[],
): Record<"states" | "mask" | "buckets", Tensor> {
  const width = sharedWidth(config);
  const lengths = pairs.map((pair) => pairLength(config, pair));
  const longest = Math.max(...lengths);
  const states = new Float32Array(pairs.length * longest * width);
  const mask = new Float32Array(pairs.length * longest);
  pairs.forEach(({ question, passage }, i) => {
    states.set(question, i * longest * width);
    states.set(passage, i * longest * width + question.length);
    mask.fill(1, i * longest, i * longest + lengths[i]!);
  });
  return {
    states: { data: states, shape: [pairs.length, longest, width] },
    mask: { data: mask, shape: [pairs.length, longest] },
    buckets: positionBuckets(config, "encoder", longest),
  };
}
