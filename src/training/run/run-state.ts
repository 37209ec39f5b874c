/** How far a run is, and whether it must end. */

import type { Tokenizer } from "../../text/tokens/tokenizer.ts";
import type { StepLosses, TrainingEngine } from "../engine/engine.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { TrainingData } from "../examples/training-data.ts";
import type { PreBatchQueue } from "../gradient-cache/pre-batch.ts";
import { chosenOf, fallOf } from "../verdict/decision.ts";
import type { MeasuredSet } from "../verdict/measured-set.ts";
import type { MeasuredModel } from "../verdict/measurements.ts";
import type { SnapshotExamples } from "./background-refresh.ts";
import type { RunPlan } from "./checkpoint.ts";
import type { GivenWeights } from "./parameters.ts";
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
  /** What is averaged with the parameters of `engine` to be measured and saved. */
  readonly given: GivenWeights;
  /** The pre-batch negatives of the next step; undefined without the option. */
  readonly queue: PreBatchQueue | undefined;
  readonly log: RunLog;
  /** What the run is measured with, if anything. */
  readonly set: MeasuredSet | undefined;
  /** Steps done, of all iterations. */
  step: number;
  /** The step of the last checkpoint. */
  savedStep: number | undefined;
  /** The models that were measured so far. */
  readonly models: MeasuredModel[];
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

/** Whether the schedule measures the model of this step. A change of the schedule counts anew. */
export function isMonitorStep({ set, changes, step }: RunState): boolean {
  const change = changes.findLast(({ monitorSteps }) => monitorSteps);
  const every = change?.monitorSteps ?? set?.every ?? Infinity;
  const done = step - (change?.step ?? 0);
  return done % every === 0 && (done > 0 || !change);
}

export const isStopped = ({ run }: RunState): boolean => run.signal?.aborted === true;

/** Why the run must end before its last step; otherwise undefined. */
export const failureOf = ({ diverged, models }: RunState): string | undefined =>
  diverged ?? fallOf(models);

/** Moves the end of the run to this step if its patience is over. */
export function endIfStale({ run, models, changes, step }: RunState): void {
  const { patience = Infinity } = run.measurements;
  const age = models.length > 0 ? models.length - 1 - models.indexOf(chosenOf(models)) : 0;
  if (age >= patience) changes.push({ step, last: step });
}

/** Steps since the snapshot whose model found the candidates of the last step, if a model did. */
export const stalenessOf = ({ examples, step }: RunState): number | undefined =>
  examples?.snapshot === undefined ? undefined : step - 1 - examples.snapshot;

/**
 * The weights of a working model are far below. The product of three larger weights, as in a gated
 * layer, soon exceeds float32.
 */
const MAX_WEIGHT = 1e9;

/** Describes a loss or gradient that is not finite; otherwise undefined. */
export function divergedLoss({ loss, gradientNorm }: StepLosses, step: number): string | undefined {
  if (Number.isFinite(loss) && Number.isFinite(gradientNorm)) return undefined;
  const [lossText, normText] = [loss.toPrecision(4), gradientNorm.toPrecision(4)];
  return `a loss of ${lossText} and a gradient of norm ${normText} at step ${step}`;
}

/** Describes the first weight that is too large or not a number; otherwise undefined. */
export function divergedParameter(
  parameters: ReadonlyMap<string, ParameterState>,
  step: number,
): string | undefined {
  for (const [name, { value }] of parameters) {
    const weight = value.find((candidate) => !(Math.abs(candidate) < MAX_WEIGHT));
    if (weight !== undefined)
      return `a weight of ${weight.toPrecision(4)} in ${name} after step ${step}`;
  }
  return undefined;
}
