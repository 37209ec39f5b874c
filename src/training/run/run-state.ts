/** How far a run is. */

import type { Tokenizer } from "../../text/tokenizer.ts";
import type { TrainingEngine } from "../engine/engine.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { TrainingData } from "../examples/training-data.ts";
import type { PreBatchQueue } from "../gradient-cache/pre-batch.ts";
import type { SnapshotExamples } from "./background-refresh.ts";
import type { RunPlan } from "./checkpoint.ts";
import type { MeasuredSet } from "./measured-set.ts";
import { fallOf, type MeasurementRecord } from "./records.ts";
import type { Run } from "./run.ts";
import type { RunLog } from "./run-log.ts";
import type { ScheduleChange } from "./schedule.ts";
import type { MeasurementSeconds, TimeBudget } from "./time-budget.ts";

export interface RunState {
  readonly run: Run;
  readonly tokenizer: Tokenizer;
  readonly corpus: Corpus;
  readonly data: TrainingData;
  readonly plan: RunPlan;
  readonly engine: TrainingEngine;
  /** The pre-batch negatives of the next step; undefined without the option. */
  readonly queue: PreBatchQueue | undefined;
  readonly log: RunLog;
  /** What the run is measured with, if anything. */
  readonly set: MeasuredSet | undefined;
  /** Steps done, of all iterations. */
  step: number;
  /** The step of the last checkpoint. */
  savedStep: number | undefined;
  /** Measurements so far. */
  readonly records: MeasurementRecord[];
  /** Changes of the schedule so far, in the order of steps. */
  readonly changes: ScheduleChange[];
  /** Undefined if the run takes the time that its steps take. */
  readonly budget: TimeBudget | undefined;
  /** The last measurement of this process. */
  durations: MeasurementSeconds | undefined;
  /** Seconds of each of the last steps. */
  readonly stepSeconds: number[];
  /** Steps that earlier processes did. */
  readonly resumedAt: number;
  /** The current examples; undefined before the first iteration. */
  examples: SnapshotExamples | undefined;
  /** Describes the loss or weight that ended the run, if one did. */
  diverged: string | undefined;
}

/** The last step of the run, counted over all iterations. */
export const lastStep = ({ run, changes }: RunState): number => {
  const { iterations, steps } = run.schedule;
  return changes.at(-1)?.last ?? iterations * steps;
};

/** Steps between two measurements. */
export const monitorSteps = ({ set, changes }: RunState): number =>
  changes.findLast((change) => change.monitorSteps)?.monitorSteps ?? set?.every ?? Infinity;

export const isStopped = ({ run }: RunState): boolean => run.signal?.aborted === true;

/** Why the run must end before its last step; otherwise undefined. */
export const failureOf = ({ diverged, records }: RunState): string | undefined =>
  diverged ?? fallOf(records);

/** Steps since the snapshot whose model found the candidates of the last step, if a model did. */
export const stalenessOf = ({ examples, step }: RunState): number | undefined =>
  examples?.snapshot === undefined ? undefined : step - 1 - examples.snapshot;
