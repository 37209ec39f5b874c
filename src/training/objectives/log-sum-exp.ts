/** The log of a sum of exponentials. */

import type { Ops } from "../../tensor/ops.ts";

/** `log sum_j exp(x_ij)`: [..., columns] -> [...]. */
export function logSumExp<T>(ops: Ops<T>, x: T): T {
  const highest = ops.stopGradient(ops.max(x, -1, { keep: true })); // against overflow
  const sum = ops.sum(ops.exp(ops.subtract(x, highest)), [-1]);
  return ops.add(ops.log(sum), ops.reshape(highest, ops.shape(sum)));
}
