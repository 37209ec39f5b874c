/** Batches of sequences of token ids: sequences of similar length run together, with padding. */

import type { Tensor } from "../tensor/ops.ts";

/**
 * Tokens of one run of the encoder, padding included. With 500 to 1,000 tokens, the output of an
 * operation is still in the cache of the processor when the next operation reads it: a passage then
 * takes two thirds of the time that it takes in runs of 5,000 tokens. Small runs also need less
 * padding.
 */
export const TOKENS_PER_BATCH = 512;

/** Token ids and mask of padded sequences, int32 and float32 [batch, length]. */
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

/**
 * Groups sequences of similar length, longest first. Returns positions in `lengths`. A group has at
 * most `tokens` tokens with its padding; a longer sequence is a group by itself.
 */
export function batchesByLength(lengths: readonly number[], tokens: number): number[][] {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b]! - lengths[a]!);
  const batches: number[][] = [];
  for (let start = 0; start < order.length; ) {
    const size = Math.max(1, Math.floor(tokens / lengths[order[start]!]!));
    batches.push(order.slice(start, start + size));
    start += size;
  }
  return batches;
}
