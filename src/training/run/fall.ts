/**
 * What a run does when retrieval falls: it halves the learning rate and continues with the weights
 * of the best step, with new moments. After several falls in a row it ends.
 */

import { bestOf, gainOf, type MonitorRecord } from "./retrieval-monitor.ts";
import type { ScheduleChange } from "./schedule.ts";

/** Reductions of the learning rate without a better model in between. */
export const MAX_REDUCTIONS = 3;
/** A smaller loss, in standard errors of the mean difference between questions, may be chance. */
const SIGNIFICANT_ERRORS = 2;

/**
 * Whether the last record is clearly below the best one. With d_i the loss of reciprocal rank of
 * question i, and n questions,
 *
 *     mean(d) > 2 sd(d) / sqrt(n)
 */
export function hasFallen(records: readonly MonitorRecord[]): boolean {
  const last = records.at(-1);
  if (!last) return false;
  return gainOf(last, bestOf(records)) > SIGNIFICANT_ERRORS;
}

/** The reduction that follows the last measurement, if retrieval fell. */
export function reductionAfter(
  records: readonly MonitorRecord[],
  changes: readonly ScheduleChange[],
): ScheduleChange | undefined {
  if (!hasFallen(records) || isExhausted(records, changes)) return undefined;
  return { step: records.at(-1)!.step, restored: bestOf(records).step };
}

/** Whether retrieval fell once more after all reductions that are tried. */
export function isExhausted(
  records: readonly MonitorRecord[],
  changes: readonly ScheduleChange[],
): boolean {
  if (records.length === 0) return false;
  const best = bestOf(records).step;
  const { step } = records.at(-1)!;
  const reductions = changes.filter(({ restored, step: at }) => restored === best && at < step);
  return reductions.length >= MAX_REDUCTIONS && hasFallen(records);
}
