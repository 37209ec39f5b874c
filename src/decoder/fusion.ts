/**
 * Reading question and passages together, as it runs: the upper encoder layers over each pair, and the keys and values of
 * all that was read, side by side for the decoder (fusion in the decoder, Izacard and Grave 2021).
 */

import { batchesByLength, TOKENS_PER_BATCH } from "../encoder/lower-session.ts";
import { upperStates } from "../encoder/upper-layers.ts";
import type { ModelConfig } from "../model/config.ts";
import { inferenceContext } from "../model/layers/context.ts";
import { positionBuckets } from "../model/layers/relative-position.ts";
import { buildParameters } from "../model/parameter-names.ts";
import type { Tensor } from "../tensor/ops.ts";
import type { Session } from "../tensor/session.ts";
import { type Graph, trace } from "../tensor/trace.ts";
import { crossKeyValues } from "./decoder.ts";
import { mapBlocks, named } from "./key-values.ts";

/** States of the lower encoder layers, each [length, modelSize]: a question, and the passages that it is read with. */
export interface ReadingStates {
  readonly question: Float32Array;
  readonly passages: readonly Float32Array[];
}

/** What the decoder reads of some questions. */
export interface FusedPassages {
  /** `cross.N.key` and `cross.N.value` of every decoder block N: [questions, heads, fused, headSize]. */
  readonly cross: Readonly<Record<string, Tensor>>;
  /** float32 [questions, fused]: 1 for a token, 0 behind the last token of a question that has fewer than another */
  readonly mask: Tensor;
  /** How many tokens each passage of each question has there, with the question's own in front of it. */
  readonly lengths: readonly (readonly number[])[];
}

/** A question with one of its passages. */
interface Pair {
  readonly question: Float32Array;
  readonly passage: Float32Array;
  /** Which question, and where among its tokens the pair begins. */
  readonly row: number;
  readonly start: number;
  readonly length: number;
}

/** `states`, `mask`, `buckets` of pairs (`PairInput`) -> `states`, and `cross` with [pairs, heads, length, headSize]. */
export function traceUpper(config: ModelConfig): Graph {
  return trace(
    {
      states: ["float32", "pairs", "length", config.modelSize],
      mask: ["float32", "pairs", "length"],
      buckets: ["int32", "length", "length"],
    },
    (ops, input) => {
      const context = inferenceContext(ops, config);
      const parameters = buildParameters(config, (name, shape) => ops.parameter(name, shape));
      const states = upperStates(context, parameters, input);
      return { states, ...named("cross", crossKeyValues(context, parameters, states)) };
    },
  );
}

/**
 * Reads each question with each of its passages. Pairs of alike length run together, whatever their questions, and padding is
 * left out of what they leave. Throws the signal's reason when aborted.
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
  const lengths = pairs.map(({ length }) => length);
  for (const batch of batchesByLength(lengths, TOKENS_PER_BATCH)) {
    signal?.throwIfAborted();
    const together = batch.map((i) => pairs[i]!);
    const found = await upper.run(pairInput(config, together), Object.keys(cross));
    for (const [name, { data }] of Object.entries(found))
      place(data as Float32Array, together, cross[name]!);
  }
  const mask = new Float32Array(inputs.length * fused);
  for (const { row, start, length } of pairs)
    mask.fill(1, row * fused + start, row * fused + start + length);
  return {
    cross,
    mask: { data: mask, shape: [inputs.length, fused] },
    lengths: pairsOf.map((own) => own.map(({ length }) => length)),
  };
}

function pairsOfQuestion(
  { modelSize }: ModelConfig,
  { question, passages }: ReadingStates,
  row: number,
): Pair[] {
  let end = 0;
  return passages.map((passage) => {
    const length = (question.length + passage.length) / modelSize;
    const start = end;
    end += length;
    return { question, passage, row, start, length };
  });
}

function pairInput(
  config: ModelConfig,
  pairs: readonly Pair[],
): Record<"states" | "mask" | "buckets", Tensor> {
  const longest = Math.max(...pairs.map(({ length }) => length));
  const states = new Float32Array(pairs.length * longest * config.modelSize);
  const mask = new Float32Array(pairs.length * longest);
  pairs.forEach(({ question, passage, length }, i) => {
    states.set(question, i * longest * config.modelSize);
    states.set(passage, i * longest * config.modelSize + question.length);
    mask.fill(1, i * longest, i * longest + length);
  });
  return {
    states: { data: states, shape: [pairs.length, longest, config.modelSize] },
    mask: { data: mask, shape: [pairs.length, longest] },
    buckets: positionBuckets(config, "encoder", longest),
  };
}

/** Copies what pairs left, [pairs, heads, length, headSize], to their places in `to`, [questions, heads, fused, headSize]. */
function place(
  from: Float32Array,
  pairs: readonly Pair[],
  to: { data: Float32Array; shape: number[] },
): void {
  const [, heads, fused, headSize] = to.shape as [number, number, number, number];
  const block = from.length / (pairs.length * heads); // numbers of one head of one pair, padding included
  pairs.forEach(({ row, start, length }, pair) => {
    for (let head = 0; head < heads; head++) {
      const source = (pair * heads + head) * block;
      const target = ((row * heads + head) * fused + start) * headSize;
      to.data.set(from.subarray(source, source + length * headSize), target);
    }
  });
}
