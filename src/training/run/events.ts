/** What a run tells while it goes on. */

import type { Measures } from "../../evaluation/measures.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import type { StepLosses } from "../engine/engine.ts";
import type { EngineEvent } from "../engine/open-engine.ts";
import type { HeadAgreement } from "./rank-heads.ts";
import type { MonitorOutcome } from "./retrieval-monitor.ts";

export type TrainingEvent =
  | ProgressEvent
  | EngineEvent
  /** How well each head of the retrieval layer retrieves before training; the first one is taken. */
  | { readonly type: "heads"; readonly heads: readonly HeadAgreement[] }
  | {
      readonly type: "step";
      /** Steps done, and of how many in all stages. */
      readonly step: number;
      readonly steps: number;
      readonly losses: StepLosses;
      readonly learningRate: number;
      readonly questionsPerSecond: number;
    }
  | {
      readonly type: "evaluation";
      readonly step: number;
      readonly measures: Measures;
      readonly best: boolean;
    }
  /** After `step` steps, close passages are those that the model found in the background which had done `snapshot`. */
  | { readonly type: "refresh"; readonly step: number; readonly snapshot: number }
  | { readonly type: "checkpoint"; readonly step: number; readonly directory: string };

/** What became of a run. */
export interface TrainingResult {
  /** The trained model. */
  readonly folder: string;
  readonly report: string;
  /** Steps done. */
  readonly step: number;
  /** False where the run was stopped before its end; `resume` goes on with it. */
  readonly finished: boolean;
  /** What ended the run before its last step: a loss that is not finite, or retrieval that fell away. */
  readonly failure?: string | undefined;
  /** The step of the checkpoint in `folder`; undefined where the run ended before its first. */
  readonly checkpoint?: number | undefined;
  /** On dev, where there is one: before training, and of the model in `folder`. */
  readonly before?: Measures | undefined;
  readonly after?: Measures | undefined;
  /** What the task's monitor said, where it has one. */
  readonly monitor?: MonitorOutcome | undefined;
}
