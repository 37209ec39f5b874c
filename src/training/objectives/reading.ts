/**
 * Reading: the negative log likelihood of the answers (ReAtt, section 2.1, L_QA).
 *
 *     nll = -1/N sum over answers a and tokens t of log P(a_t | a_<t, q, candidates of q)
 *
 * N is the number of answer tokens of the batch, `</s>` included. All candidates of a question are
 * read together (fusion in the decoder, Izacard and Grave 2021).
 */

import type { Ops } from "../../tensor/ops.ts";
import { hasAnswer } from "./examples.ts";
import { defineObjective, type Objective } from "./objective.ts";
import { type NamedTensor, scalar, type TokenBatch } from "./token-batch.ts";

/**
 * The likelihood of the answers. It trains the reader, and the layers that retrieval shares.
 *
 * @example
 * ```ts
 * import { reading } from "reatt/training";
 *
 * const objective = [reading()];
 * console.log(objective.map(({ name }) => name)); // [ 'reading' ]
 * ```
 */
export const reading = (): Objective =>
  defineObjective({
    name: "reading",
    needs: ["answerLogProbabilities"],
    acrossQuestions: false,
    terms: {
      nll: {
        weight: 1,
        title: "Reading loss: nll",
        meaning:
          "Negative log-likelihood of an answer token. It falls while the model learns to read.",
      },
    },
    trains: hasAnswer,
    inputs: (batch) => ({ tokens: answerTokens(batch) }),
    compute: (ops, { answerLogProbabilities }, { tokens }) => ({
      nll: meanNegative(ops, answerLogProbabilities, tokens),
    }),
  });

/** The number of answer tokens of the whole batch, at least 1: -> []. */
export const answerTokens = ({ whole }: TokenBatch): NamedTensor =>
  scalar(
    Math.max(
      1,
      whole.reduce((sum, { answer }) => sum + answer.length, 0),
    ),
  );

/** Minus the sum of log probabilities of any shape, divided by `count` []: -> []. */
export function meanNegative<T>(ops: Ops<T>, logProbabilities: T, count: T): T {
  const axes = ops.shape(logProbabilities).map((_, axis) => axis);
  return ops.divide(ops.multiply(ops.sum(logProbabilities, axes), ops.scalar(-1)), count);
}
