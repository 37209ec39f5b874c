/**
 * The losses of phrase queries. Letters of shapes: Q questions, T token keys of a step, n phrases
 * of a question, d size of a key.
 *
 * Source: Lee et al. 2021 (DensePhrases), sections 4.1, 4.2 and 6.
 */

import { hiddenBias } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";
import { logSumExp } from "./log-sum-exp.ts";

/** Adds MASKED where `mask` is 0. */
const masked = <T>(ops: Ops<T>, x: T, mask: T): T => ops.add(x, hiddenBias(ops, mask));

/** The mean of losses: `weights` are 1 / count, or 0 for a question that does not count. */
const weightedSum = <T>(ops: Ops<T>, losses: T, weights: T): T =>
  ops.sum(ops.multiply(losses, weights), [0]);

export interface PassageLossInput<T> {
  /** [T, d]: the token keys of the different passages of the step */
  readonly keys: T;
  /** [Q, 2, T]: 1 at the first, and at the last, token of each occurrence of the answer */
  readonly answers: T;
  /** [Q, 1, T]: 1 for the tokens of the question's passage */
  readonly own: T;
  /** [Q]: 1 / count, or 0 for a question without an answer in its passage */
  readonly weights: T;
  /** [Q, 1, T]: 0 for the tokens that count for a question, MASKED for the others. Default: all. */
  readonly bias?: T;
}

/**
 * The loss of the phrase of the gold passage, for the start and the end each, with the tokens A at
 * which the answer starts or ends:
 *
 *     L = -log P(A | tokens of the gold passage) - log P(A | tokens of all passages of the step)
 *     P(A | S) = sum over t in A of softmax over t in S of q . k_t
 *
 * The first term is that of reading (Eq. 6), the second has in-batch and pre-batch negatives
 * (sections 4.2 and 4.3). There only the answers of the other questions are negatives; here all
 * tokens are, since their keys are at hand.
 *
 * @param vectors the phrase queries, [Q, 2, d]
 */
export function passageLoss<T>(ops: Ops<T>, vectors: T, input: PassageLossInput<T>): T {
  const all = ops.matmul(vectors, ops.transpose(input.keys, [1, 0])); // [Q, 2, T]
  const logits = input.bias === undefined ? all : ops.add(all, input.bias);
  const gold = logSumExp(ops, masked(ops, logits, input.answers)); // [Q, 2]
  const own = logSumExp(ops, masked(ops, logits, input.own));
  const losses = ops.subtract(ops.add(own, logSumExp(ops, logits)), ops.add(gold, gold));
  return weightedSum(ops, ops.sum(losses, [1]), input.weights);
}

export interface AttentionLossInput<T> {
  /** [Q, 2, N]: the logits of the tokens of a question's candidates, near MASKED for padding */
  readonly own: T;
  /** [Q, 2, T]: of all tokens, near MASKED for those that do not count */
  readonly all: T;
  /** [Q, 2, N]: the attention of the decoder at the first, and at the last, token of the answer */
  readonly target: T;
  /** [Q]: 1 / count, or 0 for a question without an answer */
  readonly weights: T;
}

/**
 * The loss of a phrase that the decoder points at, for the start and the end each: cross-entropies
 * of its attention a over the tokens of the candidates,
 *
 *     L = -sum over t of a_t [log P(t | tokens of the candidates) + log P(t | all tokens)]
 *
 * A distribution is the teacher in DensePhrases too (section 4.1): that of a reader which sees the
 * question and the passage together.
 */
export function attentionLoss<T>(ops: Ops<T>, input: AttentionLossInput<T>): T {
  const { own, all, target, weights } = input;
  const expected = ops.sum(ops.multiply(target, own), [2]); // [Q, 2]
  const normalisers = ops.add(logSumExp(ops, own), logSumExp(ops, all));
  const losses = ops.subtract(normalisers, ops.add(expected, expected));
  return weightedSum(ops, ops.sum(losses, [1]), weights);
}

export interface SearchLossInput<T> {
  /** [Q, n, d]: the keys of the first, and of the last, tokens of the phrases that were found */
  readonly starts: T;
  readonly ends: T;
  /** [Q, n]: 1 for a phrase that is an answer */
  readonly correct: T;
  /** [Q, n]: 1 for a phrase; a question can have fewer than another */
  readonly present: T;
  /** [Q]: 1 / count, or 0 for a question without an answer among its phrases */
  readonly weights: T;
}

/**
 * The negative marginal log-likelihood of the answer over the phrases S that a search found:
 *
 *     L = -log sum over s in S with the text of the answer of P(s),   P(s) = softmax over S of f(s)
 *
 * Source: section 6, Eq. 11 (query-side fine-tuning).
 *
 * @param vectors the phrase queries, [Q, 2, d]
 */
export function searchLoss<T>(ops: Ops<T>, vectors: T, input: SearchLossInput<T>): T {
  const product = (row: number, keys: T): T =>
    ops.sum(ops.multiply(ops.slice(vectors, 1, row, row + 1), keys), [2]); // [Q, n]
  const scores = masked(
    ops,
    ops.add(product(0, input.starts), product(1, input.ends)),
    input.present,
  );
  const correct = logSumExp(ops, masked(ops, scores, input.correct));
  return weightedSum(ops, ops.subtract(logSumExp(ops, scores), correct), input.weights);
}
