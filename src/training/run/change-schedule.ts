/** Changes the schedule of a run: after a fall of retrieval, and to end in time. */

import { mean } from "../../math/mean.ts";
import { readBestWeights } from "./best-weights.ts";
import type { TrainingEvent } from "./events.ts";
import { reductionAfter } from "./fall.ts";
import { lastStep, type RunState } from "./run-state.ts";
import { CALIBRATION_STEPS, scheduleFor, trainingSeconds, WARM_UP_STEPS } from "./time-budget.ts";

/** The mean duration of a step is that of the last ones: examples differ in length. */
const TIMED_STEPS = 24;

/** Continues with the weights of the best step at a lower rate, if the last measurement fell. */
export async function* reduceAfterFall(state: RunState): AsyncGenerator<TrainingEvent> {
  const { run, engine, monitorRecords, changes, step, log } = state;
  const reduction = reductionAfter(monitorRecords, changes);
  if (!reduction || step === lastStep(state)) return;
  await engine.restart(await readBestWeights(run.out, await engine.parameters()));
  changes.push(reduction);
  await log.reduction(reduction);
  yield { type: "reduction", step, restored: reduction.restored! };
}

/** Adds the duration of a step. The first ones compile graphs and do not count. */
export function timeStep(state: RunState, seconds: number): void {
  state.stepSeconds.push(seconds);
  if (state.stepSeconds.length > TIMED_STEPS) state.stepSeconds.shift();
}

/** After a few steps and each measurement: moves the last step to where the time ends. */
export function fitToTime(state: RunState, isMeasured: boolean): void {
  const { budget, changes, step, stepSeconds, durations, resumedAt } = state;
  if (!budget || !durations) return;
  if (trainingSeconds(budget, durations) < durations.measurement) {
    changes.push({ step, last: step });
    return;
  }
  if (!isMeasured && step !== resumedAt + CALIBRATION_STEPS) return;
  const usual = stepSeconds.slice(stepSeconds.length > WARM_UP_STEPS ? WARM_UP_STEPS : 0);
  changes.push(scheduleFor(budget, { ...durations, step: mean(usual) }, step));
}
