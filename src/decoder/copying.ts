/**
 * The copy mechanism: a decoder that writes a word of its vocabulary, or a token of the passages
 * that it attends to. Models with `copy_mechanism` in `config.json` have it; T5 has not.
 *
 *     P(w) = (1 - g) V(w) + g sum over j with token j = w of A(j)        g = sigmoid(gate · state)
 *
 * V is the distribution over the vocabulary. A is the cross-attention of the last decoder layer to
 * the tokens j of all passages of a question, each with its copy of the question, averaged over
 * heads. `state` is the decoder's output.
 *
 * A reader of few parameters learns where an answer stands long before it learns to spell it
 * (docs/experiments/reatt-mini.md).
 *
 * Source: See, Liu and Manning 2017, "Get To The Point", Eq. 8 and 9, with T5's cross-attention in
 * place of a layer of its own.
 */

import { linear } from "../model/layers/attention.ts";
import type { ModelParameters } from "../model/parameters.ts";
import type { Ops } from "../tensor/ops.ts";

/** Keeps the logarithms of a gate and of a share finite. */
export const COPY_EPSILON = 1e-9;

/** What a decoder copies at each position of each row. */
export interface CopyDistribution<T> {
  /** [rows, length]: g */
  readonly gate: T;
  /** [rows, length, fused]: A; the sum over `fused` is 1 */
  readonly attention: T;
}

/**
 * The cross-attention averaged over heads: crossScores [questions, heads, rows of one, fused],
 * before softmax -> [questions, rows of one, fused].
 */
export const meanAttention = <T>(ops: Ops<T>, crossScores: T): T =>
  ops.mean(ops.softmax(crossScores), [1]);

/**
 * The gate and the attention of a decoder's output; undefined for a model that does not copy.
 *
 * states: [rows, length, modelSize]. attention: `meanAttention`.
 */
export function copyDistribution<T>(
  ops: Ops<T>,
  { decoder: { copyGate } }: ModelParameters<T>,
  { states, attention }: { states: T; attention: T },
): CopyDistribution<T> | undefined {
  if (copyGate === undefined) return undefined;
  const [rows, length] = ops.shape(states);
  const fused = ops.shape(attention)[2];
  return {
    gate: ops.reshape(ops.sigmoid(linear(ops, copyGate, states)), [rows!, length!]),
    attention: ops.reshape(attention, [rows!, length!, fused!]),
  };
}

/** The copy distribution of one step of a decoder, with the tokens that it copies. */
export interface CopyStep {
  /** [rows] */
  readonly gate: Float32Array;
  /** [rows, fused] */
  readonly attention: Float32Array;
  /** For each question, the tokens of its passages: at most `fused` */
  readonly fusedIds: readonly (readonly number[])[];
}

/**
 * `log P` of each token of the vocabulary: logits [rows, vocabulary] -> [rows, vocabulary]. The
 * rows of a question are adjacent, and each question has the same number of rows.
 */
export function mixCopies(logits: Float32Array, copy: CopyStep): Float32Array {
  const { gate, attention, fusedIds } = copy;
  const rows = gate.length;
  const vocabulary = logits.length / rows;
  const fused = attention.length / rows;
  const mixed = new Float32Array(logits.length);
  for (let row = 0; row < rows; row++) {
    const ids = fusedIds[Math.floor((row * fusedIds.length) / rows)]!;
    const shares = new Float32Array(vocabulary);
    for (const [j, id] of ids.entries()) shares[id] = shares[id]! + attention[row * fused + j]!;
    const own = logits.subarray(row * vocabulary, (row + 1) * vocabulary);
    const { highest, sum } = exponentials(own);
    const written = (1 - gate[row]! + COPY_EPSILON) / sum;
    const copied = gate[row]! + COPY_EPSILON;
    for (let token = 0; token < vocabulary; token++)
      mixed[row * vocabulary + token] = Math.log(
        written * Math.exp(own[token]! - highest) + copied * (shares[token]! + COPY_EPSILON),
      );
  }
  return mixed;
}

/**
 * `log P` of some tokens in each row, normalised: logits [rows, vocabulary] -> a number for each
 * token, 0 where there is none. It does for these tokens what {@link mixCopies} and a softmax do
 * for all.
 *
 * @param copy undefined for a model that does not copy
 */
export function tokenLogProbabilities(
  logits: Float32Array,
  tokens: readonly (readonly (number | undefined)[])[],
  copy: CopyStep | undefined,
): number[][] {
  const vocabulary = logits.length / tokens.length;
  return tokens.map((wanted, row) => {
    if (wanted.every((token) => token === undefined)) return wanted.map(() => 0);
    const own = logits.subarray(row * vocabulary, (row + 1) * vocabulary);
    const { highest, sum } = exponentials(own);
    const normaliser = highest + Math.log(sum);
    return wanted.map((token) => {
      if (token === undefined) return 0;
      const written = own[token]! - normaliser;
      return copy ? withCopies(written, token, row, vocabulary, copy) : written;
    });
  });
}

/** `log ((1 - g) V(token) + g A(token))` from `log V(token)`, normalised. */
function withCopies(
  written: number,
  token: number,
  row: number,
  vocabulary: number,
  copy: CopyStep,
): number {
  const writes = 1 - copy.gate[row]! + COPY_EPSILON;
  const copies = copy.gate[row]! + COPY_EPSILON;
  const mixed = writes * Math.exp(written) + copies * (shareOf(token, row, copy) + COPY_EPSILON);
  return Math.log(mixed / (writes + copies * (1 + vocabulary * COPY_EPSILON)));
}

/** The attention of a row on the tokens that equal `token`. */
function shareOf(token: number, row: number, { gate, attention, fusedIds }: CopyStep): number {
  const fused = attention.length / gate.length;
  const ids = fusedIds[Math.floor((row * fusedIds.length) / gate.length)]!;
  let share = 0;
  for (const [j, id] of ids.entries()) if (id === token) share += attention[row * fused + j]!;
  return share;
}

/** The highest logit, and the sum of `exp(logit - highest)`. */
function exponentials(logits: Float32Array): { highest: number; sum: number } {
  let highest = Number.NEGATIVE_INFINITY;
  for (const logit of logits) if (logit > highest) highest = logit;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - highest);
  return { highest, sum };
}
