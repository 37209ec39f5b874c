/** What a run tells while it goes on. */

import type { Measures } from "../../evaluation/measures.ts";
import type { AdaptationPlan } from "../adapt/plan.ts";
import type { StepLosses } from "../engine/engine.ts";
import type { HeadProbe } from "../objective/probe-heads.ts";
import type { ProbeOutcome } from "./probe.ts";

export type TrainingEvent =
  /** What an adaptation is going to do. */
  | { readonly type: "plan"; readonly plan: AdaptationPlan }
  /** The package of TensorFlow.js that computes, and why those that would have been faster don't. */
  | { readonly type: "engine"; readonly name: string; readonly failures: readonly string[] }
  /** How well each head of the retrieval layer retrieves before training; the first one is taken. */
  | { readonly type: "heads"; readonly heads: readonly HeadProbe[] }
  /** Something that takes a while begins. */
  | { readonly type: "stage"; readonly name: string; readonly total?: number | undefined }
  /** So much of the stage is done. */
  | { readonly type: "progress"; readonly done: number }
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
  /** What the task's probe said, where it has one. */
  readonly probe?: ProbeOutcome | undefined;
}

/** Yields what `work` reports while it runs, and returns its result. */
export async function* reporting<Event, Result>(
  work: (report: (event: Event) => void) => Promise<Result>,
): AsyncGenerator<Event, Result> {
  const waiting: Event[] = [];
  let wake = (): void => {};
  let done = false;
  const result = work((event) => {
    waiting.push(event);
    wake();
  }).finally(() => {
    done = true;
    wake();
  });
  result.catch(() => {}); // it is awaited below, after the events
  while (!done || waiting.length > 0) {
    if (waiting.length > 0) yield waiting.shift()!;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
  return result;
}

/** The result of a run of which nobody follows the events. */
export async function finished<Result>(run: AsyncGenerator<unknown, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = await run.next();
    if (done) return value;
  }
}
