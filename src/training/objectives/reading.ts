/**
 * Reading: the negative log likelihood of the answers (ReAtt, section 2.1, L_QA).
 *
 *     nll = -1/N sum over answers a and tokens t of log P(a_t | a_<t, q, candidates of q)
 *
 * N is the number of answer tokens of the batch, `</s>` included. All candidates of a question are
 * read together (fusion in the decoder, Izacard and Grave 2021).
 */

import { COPY_EPSILON } from "../../decoder/copying.ts";
import type { Ops } from "../../tensor/ops.ts";
import { logSumExp } from "./cross-document-adjustment.ts";
import { defineObjective, type Objective } from "./objective.ts";
import { hasAnswer, type NamedTensor, scalar, type TokenBatch } from "./token-batch.ts";

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

/**
 * What a decoder that copies (decoder/copying.ts) copies, for each label [rows, T]: see {@link
 * copyShares}.
 */
export interface CopiedLabels<T> {
  readonly gate: T;
  readonly shares: T;
}

/**
 * The log probability of each label, 0 for padding: -> [rows, T].
 *
 * logits: [rows, T, vocabulary]. labels: int32 [rows, T]. labelMask: float32 [rows, T].
 */
export function labelLogProbabilities<T>(
  ops: Ops<T>,
  input: { logits: T; labels: T; labelMask: T; copy?: CopiedLabels<T> | undefined },
): T {
  const vocabulary = ops.shape(input.logits).at(-1) as number;
  const chosen = ops.multiply(ops.logSoftmax(input.logits), ops.oneHot(input.labels, vocabulary));
  const written = ops.sum(chosen, [2]);
  const logProbabilities = input.copy ? withCopies(ops, written, input.copy) : written;
  return ops.multiply(logProbabilities, input.labelMask);
}

/** `log((1 - g) V + g share)` from `log V`: all [rows, T]. */
function withCopies<T>(ops: Ops<T>, written: T, { gate, shares }: CopiedLabels<T>): T {
  const log = (x: T): T => ops.log(ops.add(x, ops.scalar(COPY_EPSILON)));
  const ways = [
    ops.add(log(ops.subtract(ops.scalar(1), gate)), written),
    ops.add(log(gate), log(shares)),
  ];
  const shape = [...ops.shape(written), 1];
  return logSumExp(
    ops,
    ops.concat(
      ways.map((way) => ops.reshape(way, shape)),
      2,
    ),
  );
}

/**
 * The attention on the tokens that equal each label: -> [rows, T].
 *
 * attention: [rows, T, fused]. ids: int32 [rows, fused]. labels: int32 [rows, T].
 */
export function copyShares<T>(ops: Ops<T>, input: { attention: T; ids: T; labels: T }): T {
  const [rows, fused] = ops.shape(input.ids);
  const ids = ops.reshape(input.ids, [rows!, 1, fused!]);
  const labels = ops.reshape(input.labels, [...ops.shape(input.labels), 1]);
  return ops.sum(ops.multiply(input.attention, ops.equal(labels, ids)), [2]);
}
