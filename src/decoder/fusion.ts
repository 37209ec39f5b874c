/**
 * Fusion-in-decoder (Izacard and Grave 2021): the joint layers encode each question with
 * each of its passages, and the states of all these pairs are joined for the decoder.
 */

import { encodePairs, type PairStates, pairLength } from "../encoder/joint-session.ts";
import type { ModelConfig } from "../model/config.ts";
import { MASKED } from "../model/layers/attention.ts";
import type { Tensor } from "../tensor/ops.ts";
import type { Session } from "../tensor/session.ts";

/** States of the shared layers for a question and its passages, each [length, sharedWidth]. */
export interface ReadingStates {
  readonly question: Float32Array;
  readonly passages: readonly Float32Array[];
  /** A term of the attention scores of each passage's tokens (fused `bias`). Default 0. */
  readonly relevances?: readonly number[] | undefined;
}

/** What the decoder attends to. */
export interface FusedPassages {
  /** The states of the tokens of all pairs of a question: [questions, fused, modelSize] */
  readonly states: Tensor;
  /**
   * float32 [questions, fused], added to the scores of the decoder's attention: the relevance of
   * the passage for its tokens, `MASKED` for padding after the last token of a question
   */
  readonly bias: Tensor;
  /** For each question, the number of tokens of each of its pairs, in the order of the passages. */
  readonly lengths: readonly (readonly number[])[];
}

/** A question with one of its passages, and the place of their tokens in the fused tensors. */
interface Pair extends PairStates {
  readonly row: number;
  readonly start: number;
  readonly length: number;
  readonly relevance: number;
}

/**
 * Encodes each question with each of its passages and joins the states without the padding.
 *
 * @param joint the compiled graph of `traceJoint`
 * @throws the reason of `signal` once it is aborted.
 */
export async function fuse(
  config: ModelConfig,
  joint: Session,
  inputs: readonly ReadingStates[],
  signal?: AbortSignal,
): Promise<FusedPassages> {
  const pairsOf = inputs.map((input, row) => pairsOfQuestion(config, input, row));
  const pairs = pairsOf.flat();
  const fused = Math.max(...pairs.map(({ start, length }) => start + length));
  const { modelSize } = config;
  const states = new Float32Array(inputs.length * fused * modelSize);
  for await (const { positions, states: found } of encodePairs(config, joint, pairs, signal)) {
    const padded = found.shape[1]! * modelSize; // values of one pair
    positions.forEach((position, i) => {
      const { row, start, length } = pairs[position]!;
      const own = found.data.subarray(i * padded, i * padded + length * modelSize);
      states.set(own, (row * fused + start) * modelSize);
    });
  }
  const bias = new Float32Array(inputs.length * fused).fill(MASKED);
  for (const { row, start, length, relevance } of pairs)
    bias.fill(relevance, row * fused + start, row * fused + start + length);
  return {
    states: { data: states, shape: [inputs.length, fused, modelSize] },
    bias: { data: bias, shape: [inputs.length, fused] },
    lengths: pairsOf.map((own) => own.map(({ length }) => length)),
  };
}

function pairsOfQuestion(
  config: ModelConfig,
  { question, passages, relevances }: ReadingStates,
  row: number,
): Pair[] {
  let end = 0;
  return passages.map((passage, i) => {
    const length = pairLength(config, { question, passage });
    const start = end;
    end += length;
    return { question, passage, row, start, length, relevance: relevances?.[i] ?? 0 };
  });
}
