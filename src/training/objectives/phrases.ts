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
 * shapes: token-batch.ts. The losses: phrase-losses.ts.
 */

import { hiddenBias } from "../../model/layers/attention.ts";
import type { Ops } from "../../tensor/ops.ts";
import type { TokenExample } from "./examples.ts";
import { candidatesOf, countedPassages, type Negatives, positivesOf } from "./negatives.ts";
import { defineObjective, type Objective, type Term } from "./objective.ts";
import { attentionLoss, passageLoss } from "./phrase-losses.ts";
import { type NamedTensor, perQuestion, type TokenBatch, zeros } from "./token-batch.ts";

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
