/**
 * What ReAtt is trained to minimise (ReAtt, section 3), as functions over `Ops`.
 *
 * Letters: Q questions of a batch, K close passages of each, U distinct passages of the batch, n tokens of a question,
 * m tokens of a passage, H heads, e head size.
 */

import { MASKED } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";

/** Queries and keys of the heads that take part in retrieval, with their masks. */
export interface RetrievalInput<T> {
  /** [Q, H, n, e] */
  readonly queries: T;
  /** float32 [Q, n] */
  readonly questionMask: T;
  /** [U, H, m, e] */
  readonly keys: T;
  /** float32 [U, m] */
  readonly passageMask: T;
}

/**
 * Retrieval scores of every head (Eq. 1): the average over question tokens of the best match among passage tokens.
 *
 * -> [H, Q, U]
 */
export function headScores<T>(
  ops: Ops<T>,
  { queries, questionMask, keys, passageMask }: RetrievalInput<T>,
): T {
  const [questions, heads, n, size] = ops.shape(queries);
  const [passages, , m] = ops.shape(keys);
  const allQueries = ops.reshape(ops.transpose(queries, [1, 0, 2, 3]), [heads!, -1, size!]); // [H, Q n, e]
  const allKeys = ops.reshape(ops.transpose(keys, [1, 3, 0, 2]), [heads!, size!, -1]); // [H, e, U m]
  const hidden = ops.multiply(ops.subtract(ops.scalar(1), passageMask), ops.scalar(MASKED)); // [U, m]
  const matches = ops.add(ops.matmul(allQueries, allKeys), ops.reshape(hidden, [1, 1, -1])); // [H, Q n, U m]
  const best = ops.max(ops.reshape(matches, [heads!, questions!, n!, passages!, m!]), 4); // [H, Q, n, U]
  const share = ops.divide(questionMask, ops.sum(questionMask, [1], { keep: true })); // [Q, n]
  return ops.sum(ops.multiply(best, ops.reshape(share, [1, questions!, n!, 1])), [2]);
}

/** One score from all heads (Eq. 2): `softmax(headWeights / tau)` says how much each counts. [H, Q, U], [H] -> [Q, U]. */
export function mixHeads<T>(ops: Ops<T>, scores: T, headWeights: T, tau: number): T {
  const [heads] = ops.shape(headWeights);
  const shares = ops.softmax(ops.divide(headWeights, ops.scalar(tau)));
  return ops.sum(ops.multiply(scores, ops.reshape(shares, [heads!, 1, 1])), [0]);
}

/** Scores of the distinct passages [Q, U] for the close passages of all questions, `passageOf` int32 [Q K]: -> [Q, Q K]. */
export function scoresOfBatch<T>(ops: Ops<T>, scores: T, passageOf: T): T {
  return ops.transpose(ops.gather(ops.transpose(scores, [1, 0]), passageOf), [1, 0]);
}

/**
 * The log normaliser of each question's retrieval distribution (Eq. 3): `log sum exp(exp(logScale) scores)` over candidates.
 *
 * scores [Q, P]; candidates float32 [Q, P] is 1 for the passages that compete. -> [Q]
 */
export function logNormalisers<T>(
  ops: Ops<T>,
  { scores, candidates, logScale }: { scores: T; candidates: T; logScale: T },
): T {
  const hidden = ops.multiply(ops.subtract(ops.scalar(1), candidates), ops.scalar(MASKED));
  const logits = ops.add(ops.multiply(scores, ops.exp(logScale)), hidden);
  const highest = ops.stopGradient(ops.max(logits, 1, { keep: true })); // against overflow
  const [questions] = ops.shape(scores);
  const sum = ops.sum(ops.exp(ops.subtract(logits, highest)), [1]);
  return ops.add(ops.log(sum), ops.reshape(highest, [questions!]));
}

/**
 * Cross-document adjustment (Eq. 3): `KL(target || P_ret)` of each question, where `P_ret` is `exp(exp(logScale) score -
 * logNormaliser)`.
 *
 * ownScores [Q, K]; target [Q, K] is the decoder's attention to a question's own passages, through which no gradient
 * flows; it is 0 for the passages of other questions, which therefore only count in logNormaliser [Q]. -> kl [Q]
 */
export function distillation<T>(
  ops: Ops<T>,
  input: { ownScores: T; target: T; logNormaliser: T; logScale: T },
): { kl: T; ownLogProbabilities: T } {
  const [questions] = ops.shape(input.target);
  const normaliser = ops.reshape(input.logNormaliser, [questions!, 1]);
  const ownLogProbabilities = ops.subtract(
    ops.multiply(input.ownScores, ops.exp(input.logScale)),
    normaliser,
  );
  const target = ops.stopGradient(input.target);
  // A share can underflow to 0; 0 log 0 is 0.
  const difference = ops.subtract(ops.log(ops.add(target, ops.scalar(1e-30))), ownLogProbabilities);
  return { kl: ops.sum(ops.multiply(target, difference), [1]), ownLogProbabilities };
}

/**
 * The log probability of each token of the answers: logits [rows, T, vocabulary], labels int32 [rows, T] -> [rows, T]; 0
 * where labelMask is 0.
 */
export function labelLogProbabilities<T>(
  ops: Ops<T>,
  input: { logits: T; labels: T; labelMask: T },
): T {
  const vocabulary = ops.shape(input.logits).at(-1) as number;
  const chosen = ops.multiply(ops.logSoftmax(input.logits), ops.oneHot(input.labels, vocabulary));
  return ops.multiply(ops.sum(chosen, [2]), input.labelMask);
}

/**
 * How much of the decoder's attention falls on the answer: at each of its tokens, the share of the last block's
 * cross-attention, mean over heads, that goes to where the token stands in the passages. The copyAttention loss is minus its
 * logarithm; a model that has to copy answers learns much sooner where to look (See et al. 2017; Mi et al. 2016 supervise attention so).
 *
 * crossScores [Q, heads, T, tokens of all passages]; answerTokens float32 [Q, T, tokens of all passages] is 1 where the
 * token stands. -> [Q, T]: log of the share, 0 for tokens that stand nowhere
 */
export function answerShares<T>(ops: Ops<T>, input: { crossScores: T; answerTokens: T }): T {
  const attention = ops.mean(ops.softmax(input.crossScores), [1]);
  const share = ops.sum(ops.multiply(attention, input.answerTokens), [2]);
  const stands = ops.max(input.answerTokens, 2);
  return ops.multiply(ops.log(ops.add(share, ops.scalar(1e-9))), stands); // a share can underflow to 0
}

/**
 * The marginal likelihood of REALM (Guu et al. 2020, Eq. 1) and RAG: `log sum over passages of P(answer | question, passage)
 * P(passage | question)`, each passage read alone.
 *
 * answers [Q, K]: log probability of the answer from each passage; passages [Q, K]: log of the retrieval distribution. -> [Q]
 */
export function marginalLogLikelihood<T>(
  ops: Ops<T>,
  { answers, passages }: { answers: T; passages: T },
): T {
  const joint = ops.add(answers, passages);
  const highest = ops.stopGradient(ops.max(joint, 1, { keep: true })); // against underflow
  const [questions] = ops.shape(joint);
  const sum = ops.sum(ops.exp(ops.subtract(joint, highest)), [1]);
  return ops.add(ops.log(sum), ops.reshape(highest, [questions!]));
}
