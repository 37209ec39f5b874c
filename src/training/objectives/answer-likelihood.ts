/**
 * The likelihood of the tokens of answers. A decoder that copies has the distribution of
 * decoder/copying.ts. Letters of shapes: token-batch.ts.
 */

import { COPY_EPSILON } from "../../decoder/copying.ts";
import type { Ops } from "../../tensor/ops.ts";
import { logSumExp } from "./log-sum-exp.ts";

/** What a decoder copies, for each label [rows, T]: see {@link copyShares}. */
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
