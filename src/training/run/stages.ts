/** The iterations of a run. Each has its own learning-rate cycle. */

import type { Tokenizer } from "../../text/tokens/tokenizer.ts";
import { examplesOfStep, type TextExamples } from "../examples/step.ts";
import { objectivesOf } from "../objectives/index.ts";
import type { Objective } from "../objectives/objective.ts";
import type { TokenExample } from "../objectives/token-batch.ts";
import type { Run } from "./run.ts";

export interface Stage {
  /** Steps of the run before this stage. */
  readonly first: number;
  readonly steps: number;
  /** Names the random draws of the stage. */
  readonly seed: string;
  /** The examples of a step, counted from 0 in the stage. */
  examples(step: number): TokenExample[];
  objectives(step: number): readonly Objective[];
}

/**
 * An iteration: questions with their candidates.
 *
 * @param iteration counted from 0
 * @param source called at every step, because a background refresh replaces the examples
 */
export function iterationStage(
  run: Run,
  iteration: number,
  source: () => TextExamples,
  tokenizer: Tokenizer,
): Stage {
  const { qaSteps, steps } = run.schedule;
  const { objective } = run.objective;
  const [reading, all] = [
    objectivesOf("qa", run.objective),
    objectivesOf(objective, run.objective),
  ];
  const seed = `${run.seed} ${iteration}`;
  const settings = { ...run.batch, seed, phraseLoss: run.objective.phraseLoss };
  return {
    first: iteration * steps,
    steps,
    seed,
    examples: (step) => examplesOfStep(source(), tokenizer, { ...settings, step }),
    objectives: (step) => (iteration === 0 && step < qaSteps ? reading : all),
  };
}
