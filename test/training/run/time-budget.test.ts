/** Runs with a time limit, on a clock of their own: how often they measure, and when they end. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { isMonitorStep, type RunState } from "../../../src/training/run/run-state.ts";
import { lastStep } from "../../../src/training/run/schedule.ts";
import {
  canMeasure,
  fitToTime,
  type TimeBudget,
  timeStep,
} from "../../../src/training/run/time-budget.ts";

type TimedRun = { -readonly [Name in keyof RunState]: RunState[Name] };

/**
 * Trains with a step a second, then indexes twice what a measurement indexes, and compresses. Gives
 * the measured steps, the last step and the seconds.
 *
 * @param stepTime seconds of a step
 */
function trainFor(
  seconds: number,
  measurement: number,
  compression: number,
  stepTime: (step: number) => number = () => 1,
) {
  let clock = 0;
  const measured: number[] = [];
  const budget: TimeBudget = {
    secondsLeft: () => seconds - clock,
    planned: { measurement, index: measurement / 2 },
    indexedAfter: 2,
    compressionAfter: compression,
    calibrationAfter: 0,
  };
  const state = {
    budget,
    step: 0,
    resumedAt: 0,
    changes: [],
    stepSeconds: [],
    set: { every: 200 },
    run: { schedule: { iterations: 1, steps: 4_000 } },
  } as unknown as TimedRun;
  const measure = (): void => {
    clock += measurement;
    measured.push(state.step);
    state.durations = { measurement, index: measurement / 2 };
  };
  if (measurement > 0) measure();
  fitToTime(state, false);
  while (state.step < lastStep(state)) {
    const taken = stepTime(state.step);
    clock += taken;
    timeStep(state, taken);
    state.step++;
    const isMeasured = isMonitorStep(state);
    if (isMeasured) measure();
    fitToTime(state, isMeasured);
  }
  if (measured.at(-1) !== state.step) measure();
  clock += measurement + compression;
  return { measured, steps: state.step, clock };
}

for (const [seconds, measurement, compression] of [
  [1_800, 30, 0],
  [1_800, 100, 200],
  [600, 5, 60],
  [7_200, 60, 600],
] as const)
  test(`${seconds} s with measurements of ${measurement} s: a fifth for these, and none is late`, () => {
    const { measured, steps, clock } = trainFor(seconds, measurement, compression);
    assert.ok(clock <= seconds, `${clock} s`);
    assert.ok(clock > 0.9 * seconds, `${clock} s`);
    // the first one, and a fifth of the rest, in whole measurements
    const most = 2 + Math.min(8, Math.floor((0.2 * seconds) / measurement));
    assert.ok(measured.length <= most, `${measured.join(" ")} of ${steps}`);
  });

test("a run without measurements fills its time", () => {
  const { steps, clock } = trainFor(600, 0, 0);
  assert.ok(steps > 540 && clock <= 600, `${clock} s`);
});

test("a machine that becomes slower ends the run no later", () => {
  const slower = (step: number): number => (step < 20 ? 1 : 8);
  const { clock, steps } = trainFor(600, 5, 60, slower);
  assert.ok(clock <= 600 + 8, `${clock} s`);
  assert.ok(steps > 60, `${steps} steps`);
});

test("nothing more is measured where the first measurement took the time", () => {
  let left = 100;
  const budget = {
    ...{ secondsLeft: () => left, planned: { measurement: 20, index: 10 } },
    ...{ indexedAfter: 2, compressionAfter: 5, calibrationAfter: 0 },
  };
  const durations = { measurement: 40, index: 20 };
  assert.ok(canMeasure({ budget, durations: undefined }));
  assert.ok(canMeasure({ budget, durations })); // 97 - 2 x 20 - 5 - 40 s
  left = 80;
  assert.not(canMeasure({ budget, durations }));
  assert.ok(canMeasure({ budget: undefined, durations }));
});

test("steps of half a minute are fitted after the first of them", () => {
  const { clock, steps } = trainFor(300, 20, 0, () => 30);
  assert.ok(clock <= 300, `${clock} s`);
  assert.ok(steps >= 5, `${steps} steps`);
});

test.run();
