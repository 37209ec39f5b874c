/**
 * The copy-attention loss, an addition of this project.
 *
 * It trains the cross-attention of the last decoder layer to look at the occurrences of the answer.
 * A(t, j) is that attention from answer token t to input token j, averaged over heads. O(t) are the
 * input tokens that are token t of an occurrence of the whole answer:
 *
 *     loss = -1/N sum over t of log sum over j in O(t) of A(t, j)
 *
 * Tokens with an empty O(t) add nothing. N is the number of answer tokens of the batch.
 *
 * A model that reads poorly learns from it where to look (docs/experiments/reatt-mini.md).
 * Related work: Mi et al. 2016 supervise the attention of a decoder; See et al. 2017 copy words by
 * attention.
 */

import type { Ops } from "../../tensor/ops.ts";
import { defineObjective, type Objective } from "./objective.ts";
import { answerTokens, meanNegative } from "./reading.ts";
import { hasAnswer, type NamedTensor, type TokenBatch, zeros } from "./token-batch.ts";

/**
 * Draws the attention of the decoder to the answer where a passage contains it.
 *
 * @example
 * ```ts
 * import { copyAttention, reading } from "reatt/training";
 *
 * const objective = [reading(), copyAttention(0.5)];
 * console.log(objective.map(({ name }) => name)); // [ 'reading', 'copyAttention' ]
 * ```
 */
export const copyAttention = (weight: number): Objective =>
  defineObjective({
    name: "copyAttention",
    needs: ["passageAttention"],
    acrossQuestions: false,
    terms: {
      copyAttention: {
        weight,
        title: "Copy attention",
        meaning:
          "Minus the log of the decoder's attention that falls on the answer where it stands in a passage, for each answer token.",
      },
    },
    trains: hasAnswer,
    inputs: (batch) => ({ tokens: answerTokens(batch), occurrences: occurrencesOf(batch) }),
    compute(ops, { passageAttention: attention }, { tokens, occurrences }) {
      const shares = copyAttentionLogShares(ops, { attention, occurrences });
      return { copyAttention: meanNegative(ops, shares, tokens) };
    },
  });

/**
 * The log of the attention that falls on the answer, 0 for tokens that occur nowhere: -> [Q, T].
 *
 * attention: [Q, T, K, m]. occurrences: float32 [Q, T, K, m].
 */
export function copyAttentionLogShares<T>(
  ops: Ops<T>,
  { attention, occurrences }: { attention: T; occurrences: T },
): T {
  const share = ops.sum(ops.multiply(attention, occurrences), [2, 3]);
  const occurs = ops.max(ops.max(occurrences, 3), 2);
  // A share can underflow to 0.
  return ops.multiply(ops.log(ops.add(share, ops.scalar(1e-9))), occurs);
}

/**
 * [Q, T, K, m]: 1 where a token of a candidate is the t-th token of an occurrence of the whole
 * answer, without `</s>`.
 */
function occurrencesOf(batch: TokenBatch): NamedTensor {
  const tensor = zeros(batch, "Q", "T", "K", "m");
  const { T, K, m } = batch.sizes;
  for (const [question, { answer, passages }] of batch.examples.entries()) {
    const text = answer.slice(0, -1); // without </s>
    for (const [k, passage] of passages.entries())
      for (const start of startsOf(text, passage))
        for (const t of text.keys()) tensor.data[((question * T + t) * K + k) * m + start + t] = 1;
  }
  return tensor;
}

/** The positions in `whole` where `part` begins; none if `part` is empty. */
function startsOf(part: readonly number[], whole: readonly number[]): number[] {
  const starts = part.length === 0 ? [] : whole.flatMap((id, i) => (id === part[0] ? [i] : []));
  return starts.filter((start) => part.every((id, t) => whole[start + t] === id));
}
