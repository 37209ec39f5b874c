/**
 * Fusion-in-decoder (Izacard and Grave 2021): the upper encoder layers encode each question with
 * each of its passages, and the keys and values of all these pairs are joined for the decoder.
 */

import { encodePairs, type PairStates, pairLength, traceUpper } from "../encoder/upper-session.ts";
import type { ModelConfig } from "../model/config.ts";
import { MASKED } from "../model/layers/attention.ts";
import type { Tensor } from "../tensor/ops.ts";
import type { Session } from "../tensor/session.ts";
import type { Graph } from "../tensor/trace.ts";
import { crossKeyValues } from "./decoder.ts";
import { mapBlocks, named } from "./key-values.ts";

/** States of the lower layers for a question and its passages, each [length, modelSize]. */
export interface ReadingStates {
  readonly question: Float32Array;
  readonly passages: readonly Float32Array[];
  /** A term of the attention scores of each passage's tokens (fused `bias`). Default 0. */
  readonly relevances?: readonly number[] | undefined;
}

/** What the decoder attends to. */
export interface FusedPassages {
  /**
   * `cross.N.key` and `cross.N.value` of each decoder block N: [questions, heads, fused, headSize]
   */
  readonly cross: Readonly<Record<string, Tensor>>;
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

/** The upper layers, with the keys and values `cross.N` [pairs, heads, length, headSize]. */
export const traceFusion = (config: ModelConfig): Graph =>
  traceUpper(config, (context, parameters, states) =>
    named("cross", crossKeyValues(context, parameters, states)),
  );

/**
 * Encodes each question with each of its passages and joins the keys and values without the
 * padding.
 *
 * @param upper the compiled graph of {@link traceFusion}
 * @throws the reason of `signal` once it is aborted.
 */
export async function fuse(
  config: ModelConfig,
  upper: Session,
  inputs: readonly ReadingStates[],
  signal?: AbortSignal,
): Promise<FusedPassages> {
  const pairsOf = inputs.map((input, row) => pairsOfQuestion(config, input, row));
  const pairs = pairsOf.flat();
  const fused = Math.max(...pairs.map(({ start, length }) => start + length));
  const shape = [inputs.length, config.heads, fused, config.headSize];
  const size = shape.reduce((product, dim) => product * dim);
  const cross = mapBlocks(config, "cross", () => ({ data: new Float32Array(size), shape }));
  const batches = encodePairs(config, upper, pairs, Object.keys(cross), signal);
  for await (const { positions, outputs } of batches) {
    const batch = positions.map((i) => pairs[i]!);
    for (const [name, { data }] of Object.entries(outputs))
      copyPairs(data as Float32Array, batch, cross[name]!);
  }
  const bias = new Float32Array(inputs.length * fused).fill(MASKED);
  for (const { row, start, length, relevance } of pairs)
    bias.fill(relevance, row * fused + start, row * fused + start + length);
  return {
    cross,
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

/** Copies pairs [pairs, heads, length, headSize] into `to` [questions, heads, fused, headSize]. */
function copyPairs(
  from: Float32Array,
  pairs: readonly Pair[],
  to: { data: Float32Array; shape: number[] },
): void {
  const [, heads, fused, headSize] = to.shape as [number, number, number, number];
  const padded = from.length / (pairs.length * heads); // values of one head of one pair
  pairs.forEach(({ row, start, length }, pair) => {
    for (let head = 0; head < heads; head++) {
      const source = (pair * heads + head) * padded;
      const target = ((row * heads + head) * fused + start) * headSize;
      to.data.set(from.subarray(source, source + length * headSize), target);
    }
  });
}
