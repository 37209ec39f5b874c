/** The events and the result of a training run. */

import type { Measures } from "../../evaluation/measures.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import type { StepLosses } from "../engine/engine.ts";
import type { EngineEvent } from "../engine/open-engine.ts";
import type { ReportSample } from "../report/report.ts";
import type { RunOutcome } from "../verdict/verdict.ts";
import type { HybridMeasures } from "./run-log.ts";
import type { WrittenModel } from "./written-model.ts";

/** What a run yields. */
export type RunEvent =
  | ProgressEvent
  | EngineEvent
  | {
      readonly type: "step";
      /** Steps done, of all iterations. */
      readonly step: number;
      /** Steps of all iterations. */
      readonly steps: number;
      readonly losses: StepLosses;
      readonly learningRate: number;
      readonly questionsPerSecond: number;
    }
  | {
      readonly type: "evaluation";
      readonly step: number;
      readonly measures: Measures;
      /** The same questions by hybrid search, with the weights that fit the model. */
      readonly hybrid: HybridMeasures;
      /** Whether the model is the best so far. It is then saved. */
      readonly best: boolean;
    }
  /** From step `step` on, the candidates are those of the model after `snapshot` steps. */
  | { readonly type: "refresh"; readonly step: number; readonly snapshot: number }
  | { readonly type: "checkpoint"; readonly step: number; readonly directory: string };

/** The result of `train`. */
export interface TrainingResult {
  /** Folder of the trained model. */
  readonly folder: string;
  /** Path of the report. */
  readonly report: string;
  /** Steps done, of all iterations. */
  readonly step: number;
  /** False if the run was stopped before its end; `resume` continues it. */
  readonly finished: boolean;
  /** Why the run ended before its last step: a loss that is not finite, or a collapse. */
  readonly failure?: string | undefined;
  /** The loss, gradient or weight that is not finite, if one was the reason. */
  readonly diverged?: string | undefined;
  /** The step of the last checkpoint; undefined if the run ended before its first one. */
  readonly checkpoint?: number | undefined;
  /** Bytes that a stopped run keeps in the folder `checkpoint`. Undefined if it is finished. */
  readonly checkpointBytes?: number | undefined;
  /** Some questions with what was retrieved and answered before and after. */
  readonly samples: readonly ReportSample[];
  /** What the run brought, by dev questions or held-out examples, if it has some. */
  readonly outcome?: RunOutcome | undefined;
  /** The step of the model in `folder`, 0 for the given one. Undefined if there is none yet. */
  readonly saved?: number | undefined;
  /** The size of that model, and what else changed. Undefined while the run is not complete. */
  readonly written?: WrittenModel | undefined;
}
