/** How far a run is. */

import type { Tokenizer } from "../../text/tokenizer.ts";
import type { TrainingEngine } from "../engine/engine.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { TrainingData } from "../examples/training-data.ts";
import type { PreBatchQueue } from "../gradient-cache/pre-batch.ts";
import type { SnapshotExamples } from "./background-refresh.ts";
import type { RunPlan } from "./checkpoint.ts";
import type { DevSet } from "./dev.ts";
import { isExhausted, MAX_REDUCTIONS } from "./fall.ts";
import type { MonitorRecord, RetrievalMonitor } from "./retrieval-monitor.ts";
import type { Run } from "./run.ts";
import type { RunLog } from "./run-log.ts";
import { currentOf, type ScheduleChange } from "./schedule.ts";
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
  readonly dev: DevSet | undefined;
  readonly monitor: RetrievalMonitor | undefined;
  /** Steps done, of all iterations. */
  step: number;
  /** The step of the last checkpoint. */
  savedStep: number | undefined;
  /** Measurements of the retrieval monitor so far. */
  readonly monitorRecords: MonitorRecord[];
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
  return currentOf(changes, "last") ?? iterations * steps;
};

/** Steps between two measurements of retrieval. */
export const monitorSteps = ({ monitor, changes }: RunState): number =>
  currentOf(changes, "monitorSteps") ?? monitor?.every ?? Infinity;

export const isStopped = ({ run }: RunState): boolean => run.signal?.aborted === true;

/** Why the run must end before its last step; otherwise undefined. */
export const failureOf = ({ diverged, monitorRecords, changes }: RunState): string | undefined =>
  diverged ??
  (isExhausted(monitorRecords, changes)
    ? `retrieval fell again after ${MAX_REDUCTIONS} reductions of the learning rate`
    : undefined);

/** Steps since the snapshot whose model found the candidates of the last step, if a model did. */
export const stalenessOf = ({ examples, step }: RunState): number | undefined =>
  examples?.snapshot === undefined ? undefined : step - 1 - examples.snapshot;
