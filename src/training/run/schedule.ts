/**
 * The learning rate: linear warm-up, linear decay to 0 (ReAtt, section 5). A run can change the
 * schedule: it lowers the rate when retrieval falls, and moves its end when a time is given.
 */

/** A reduction multiplies the learning rate by it. */
export const REDUCTION = 0.5;
/** AdamW starts again with moments of 0 after a reduction, so its first updates are too large. */
const RESTART_STEPS = 5;

/** One rise and fall of the learning rate. */
export interface LearningRateCycle {
  /** Steps of the run before the cycle. */
  readonly first: number;
  readonly steps: number;
  readonly peak: number;
  /** Share of the steps in which the rate rises. */
  readonly warmUp: number;
}

/** A change of the schedule, which holds from the step after `step` on. */
export interface ScheduleChange {
  /** Steps done. */
  readonly step: number;
  /** The last step of the run from now on. Default: as before. */
  readonly last?: number | undefined;
  /** Steps between two measurements of retrieval from now on. Default: as before. */
  readonly monitorSteps?: number | undefined;
  /**
   * The rate is reduced, and training continues with the weights of this earlier step and with
   * moments of 0. Default: neither.
   */
  readonly restored?: number | undefined;
}

/**
 * The learning rate of step `step` of the run, counted from 1. With w warm-up steps and n steps,
 *
 *     rate(i) = peak min(i / w, (n - i + 1) / (n - w + 1))
 *
 * for step i of the cycle. A new end continues the decay from its present value to 0 there. Each
 * reduction halves the rate, and adds a short warm-up of its own.
 */
export function learningRateAt(
  step: number,
  { first, steps, peak, warmUp: share }: LearningRateCycle,
  changes: readonly ScheduleChange[] = [],
): number {
  const warmUp = Math.max(1, Math.round(share * steps));
  let line: DecayLine = { from: first + warmUp, level: 1, last: first + steps };
  let factor = 1;
  for (const { step: at, last, restored } of changes) {
    if (at >= step) continue;
    if (last !== undefined && at >= first)
      line = { from: at, level: Math.min(1, decayAt(at, line)), last };
    if (restored !== undefined)
      factor *= REDUCTION * Math.min(1, (step - at) / (RESTART_STEPS + 1));
  }
  return peak * factor * Math.min((step - first) / warmUp, decayAt(step, line));
}

/** A straight line from `level` at step `from` to 0 after step `last`. */
interface DecayLine {
  readonly from: number;
  readonly level: number;
  readonly last: number;
}

const decayAt = (step: number, { from, level, last }: DecayLine): number =>
  (level * (last - step + 1)) / (last - from + 1);

/** The value of the last change that has one. */
export const currentOf = <Name extends "last" | "monitorSteps" | "restored">(
  changes: readonly ScheduleChange[],
  name: Name,
): ScheduleChange[Name] => changes.findLast((change) => change[name] !== undefined)?.[name];

/** The step of the last reduction; 0 if there was none. The moments of AdamW began after it. */
export const lastRestart = (changes: readonly ScheduleChange[]): number =>
  changes.findLast(({ restored }) => restored !== undefined)?.step ?? 0;
