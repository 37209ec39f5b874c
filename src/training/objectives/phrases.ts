/**
 * Phrases: answers as pairs of token keys (DensePhrases, Lee et al. 2021, section 4). Two
 * objectives train the phrase queries of a model together with its keys. They differ in how they
 * know where an answer is:
 *
 * - `answerPhrases`: where it stands in the positives of a question;
 * - `attendedPhrases`: where the decoder looks when it writes the first and the last token of the
 *   answer. No answer has to be found in a text.
 *
 * Negatives are all tokens of the passages that count for a question (negatives.ts). Letters of
 * shapes: token-batch.ts. In the losses at the end, T are the token keys of a step, n the phrases
 * of a question, and d is the size of a key (DensePhrases, sections 4.1, 4.2 and 6).
 */

import { hiddenBias } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";
import { logSumExp } from "./cross-document-adjustment.ts";
import { candidatesOf, countedPassages, type Negatives, positivesOf } from "./negatives.ts";
import { defineObjective, type Objective, type Term } from "./objective.ts";
import {
  type NamedTensor,
  perQuestion,
  type TokenBatch,
  type TokenExample,
  zeros,
} from "./token-batch.ts";

export interface PhraseSettings extends Pick<Negatives, "inBatchNegatives"> {
  /** The factor of the loss. Default 1. */
  readonly weight?: number | undefined;
}

const term = (weight: number): Term => ({
  weight,
  title: "Phrases",
  meaning:
    "Loss of the start and the end of the answer, each among the tokens of its passages and among those of all passages of the batch.",
});

/** Phrase queries learn where the answer stands in the positives. */
export const answerPhrases = ({ weight = 1, inBatchNegatives }: PhraseSettings = {}): Objective =>
  defineObjective({
    name: "phrases",
    needs: ["phraseQueries", "keys", "passageMask"],
    acrossQuestions: inBatchNegatives !== false,
    terms: { phrases: term(weight) },
    trains: hasPhrases,
    inputs: (batch) => ({
      bias: countedPassages(batch, positivesOf, { inBatchNegatives }).bias,
      ...phrasePlaces(batch),
      weights: equalWeights(batch, hasPhrases),
    }),
    compute(ops, { phraseQueries, keys, passageMask }, { bias, answers, inPassages, weights }) {
      const [U, , m, e] = ops.shape(keys);
      const [Q] = ops.shape(bias);
      const tokens = ops.reshape(passageMask, [1, U!, m!]);
      const ofPassages = ops.reshape(inPassages, [Q!, U!, 1]);
      const phrases = passageLoss(ops, phraseQueries, {
        keys: ops.reshape(keys, [-1, e!]),
        answers: ops.reshape(answers, [Q!, 2, -1]),
        own: ops.reshape(ops.multiply(ofPassages, tokens), [Q!, 1, -1]),
        weights,
        bias: tokenBias(ops, passageMask, bias),
      });
      return { phrases };
    },
  });

const hasPhrases = ({ phrases }: TokenExample): boolean => Boolean(phrases?.length);

/**
 * - `answers` [Q, 2, U, m]: 1 where the answer starts, and where it ends, in the positives
 * - `inPassages` [Q, U]: 1 for the passages that have the answer
 */
function phrasePlaces(batch: TokenBatch): Record<"answers" | "inPassages", NamedTensor> {
  const answers = zeros(batch, "Q", 2, "U", "m");
  const inPassages = zeros(batch, "Q", "U");
  const { K, U, m } = batch.sizes;
  for (const [question, example] of batch.examples.entries())
    for (const { candidate, first, last } of example.phrases ?? []) {
      const row = batch.rows[question * K + candidate]!;
      answers.data[(2 * question * U + row) * m + first] = 1;
      answers.data[((2 * question + 1) * U + row) * m + last] = 1;
      inPassages.data[question * U + row] = 1;
    }
  return { answers, inPassages };
}

/** Phrase queries learn where the decoder looks. */
export const attendedPhrases = ({ weight = 1, inBatchNegatives }: PhraseSettings = {}): Objective =>
  defineObjective({
    name: "phrases",
    needs: ["phraseQueries", "keys", "passageMask", "passageAttention"],
    acrossQuestions: inBatchNegatives !== false,
    terms: { phrases: term(weight) },
    trains: hasTurns,
    inputs: (batch) => ({
      ...countedPassages(batch, candidatesOf, { inBatchNegatives }),
      candidateRows: candidateRows(batch),
      turns: answerTurns(batch),
      weights: equalWeights(batch, hasTurns),
    }),
    compute(ops, outputs, { bias, counted, candidateRows: rows, turns, weights }) {
      const { phraseQueries, keys, passageMask, passageAttention } = outputs;
      const [U, , m, e] = ops.shape(keys);
      const [Q, K] = ops.shape(counted);
      const flatKeys = ops.transpose(ops.reshape(keys, [-1, e!]), [1, 0]);
      const logits = ops.matmul(phraseQueries, flatKeys); // [Q, 2, U m]
      const ofPassages = ops.reshape(logits, [Q!, 2, U!, m!]);
      const byPassage = ops.transpose(ofPassages, [0, 2, 1, 3]);
      const chosen = ops.gather(ops.reshape(byPassage, [-1, 2, m!]), rows); // [P, 2, m]
      const byCandidate = ops.reshape(chosen, [Q!, K!, 2, m!]);
      const own = ops.reshape(ops.transpose(byCandidate, [0, 2, 1, 3]), [Q!, 2, -1]);
      const everyMask = ops.expand(ops.reshape(passageMask, [1, U!, m!]), [Q!, U!, m!]);
      const tokens = ops.gather(ops.reshape(everyMask, [-1, m!]), rows); // [P, m]
      const isCounted = ops.reshape(counted, [Q!, K!, 1]);
      const ownTokens = ops.multiply(ops.reshape(tokens, [Q!, K!, m!]), isCounted);
      const mask = ops.reshape(ownTokens, [Q!, 1, -1]);
      const phrases = attentionLoss(ops, {
        own: ops.add(own, hiddenBias(ops, mask)),
        all: ops.add(logits, tokenBias(ops, passageMask, bias)),
        target: attendedTokens(ops, ops.stopGradient(passageAttention), mask, turns),
        weights,
      });
      return { phrases };
    },
  });

/** An answer has `</s>` and one token or more before it. */
const hasTurns = ({ answer }: TokenExample): boolean => answer.length > 1;

/** The row of each candidate among the passages of all questions, [Q U]: int32 [P]. */
function candidateRows({ rows, sizes: { Q, K, U } }: TokenBatch): NamedTensor {
  const data = Int32Array.from(rows, (row, pair) => Math.floor(pair / K) * U + (row ?? 0));
  return { data, shape: [Q * K], axes: ["P"] };
}

/** [Q, 2, T]: 1 for the first, and for the last, token of the answer, without `</s>`. */
function answerTurns(batch: TokenBatch): NamedTensor {
  const turns = zeros(batch, "Q", 2, "T");
  const { T } = batch.sizes;
  for (const [question, example] of batch.examples.entries()) {
    if (!hasTurns(example)) continue;
    turns.data[2 * question * T] = 1;
    turns.data[(2 * question + 1) * T + example.answer.length - 2] = 1;
  }
  return turns;
}

/** Where the decoder looks in the passages, as distributions: -> [Q, 2, K m]. */
function attendedTokens<T>(ops: Ops<T>, attention: T, mask: T, turns: T): T {
  const [Q, T] = ops.shape(attention);
  const atTurns = ops.matmul(turns, ops.reshape(attention, [Q!, T!, -1])); // [Q, 2, K m]
  const shares = ops.multiply(atTurns, mask);
  const total = ops.sum(shares, [2], { keep: true });
  return ops.divide(shares, ops.add(total, ops.scalar(1e-9))); // a question without an answer has 0
}

/** MASKED for padding, and for passages that do not count for a question: -> [Q, 1, U m]. */
function tokenBias<T>(ops: Ops<T>, passageMask: T, bias: T): T {
  const [U, m] = ops.shape(passageMask);
  const [Q] = ops.shape(bias);
  const padding = hiddenBias(ops, ops.reshape(passageMask, [1, U!, m!]));
  const ofPassages = ops.reshape(bias, [Q!, U!, 1]);
  return ops.reshape(ops.add(ofPassages, padding), [Q!, 1, -1]);
}

/** 1 / count for the questions that count in the whole batch, 0 for the others: -> [Q]. */
function equalWeights(batch: TokenBatch, counts: (example: TokenExample) => boolean): NamedTensor {
  const count = batch.whole.filter(counts).length;
  return perQuestion(batch, (example) => (counts(example) ? 1 / count : 0));
}

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
