/**
 * Phrases: answers as pairs of token keys (DensePhrases, Lee et al. 2021, section 4). The phrase
 * queries of a model are trained together with its keys. They learn where an answer stands in the
 * positives of a question. Negatives are all tokens of the passages that count for a question
 * (negatives.ts). Letters of shapes: token-batch.ts. In the losses at the end, T are the token keys
 * of a step, n the phrases of a question, and d is the size of a key (sections 4.1, 4.2 and 6).
 */

import { hiddenBias } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";
import { logSumExp } from "./cross-document-adjustment.ts";
import { countedPassages, type Negatives, positivesOf } from "./negatives.ts";
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

/**
 * Phrase queries learn where the answer stands in the positives. A model without phrase queries
 * gets them.
 *
 * @example
 * ```ts
 * import { answerPhrases, labels } from "reatt/training";
 *
 * const objective = [labels(), answerPhrases({ weight: 0.5 })];
 * console.log(objective.map(({ name }) => name)); // [ 'labels', 'phrases' ]
 * ```
 */
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
