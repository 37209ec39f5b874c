/**
 * What a reader that a run does not train says of the candidates of its examples, for objectives
 * that learn from it (objectives/likelihood.ts): log P(answer | question, candidate), without
 * dropout. It is computed once for each question with its answer and its candidates, and held.
 */

import type { ModelConfig } from "../../model/config.ts";
import { type Chunk, chunksOf } from "../gradient-cache/chunks.ts";
import type { Teacher } from "../gradient-cache/gradient-cache.ts";
import { TEACHER } from "../objectives/forward.ts";
import { defineObjective } from "../objectives/objective.ts";
import type { StepPlan, StepSettings } from "../objectives/passes.ts";
import { hasAnswer, type TokenExample } from "../objectives/token-batch.ts";
import { keepsReading } from "../objectives/trained-parameters.ts";
import type { HeldStates } from "./held-states.ts";
import { onnxPasses, openGraphRunner } from "./onnx-passes.ts";
import type { ParameterState } from "./optimizer.ts";

export interface HeldTeacher extends Teacher, AsyncDisposable {}

/** Asks the teacher, and learns nothing. */
const asking = defineObjective({
  name: "teacher",
  needs: [TEACHER],
  acrossQuestions: true,
  terms: {},
  trains: hasAnswer,
  inputs: () => ({}),
  compute: () => ({}),
});

/** @returns undefined if the run trains a part of what reads */
export function openHeldTeacher(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  settings: StepSettings,
  states: HeldStates,
): HeldTeacher | undefined {
  if (!keepsReading(config, settings.trained)) return undefined;
  const runner = openGraphRunner(parameters, {});
  const passes = onnxPasses(config, parameters, { ...settings, dropout: 0 }, runner);
  const held = new Map<string, readonly number[]>();
  const plan: StepPlan = {
    ...{ objectives: [asking], tau: settings.tau },
    held: states.layers(true),
  };
  /** Alone: among others, padding changes the last bits, and a resumed run asks fewer. */
  const ask = async (example: TokenExample): Promise<number[]> => {
    const [chunk] = chunksOf(config, [example], 1, plan, []) as [Chunk];
    const { tensors } = plan.held === undefined ? chunk : await states.withStates(chunk, plan.held);
    const { [TEACHER]: said } = await passes.keep(plan, tensors, {});
    return Array.from(said!.data);
  };
  return {
    async teach(examples) {
      const taught: TokenExample[] = [];
      for (const example of examples) {
        const name = nameOf(example);
        const known = held.get(name);
        const teacherLogLikelihoods =
          known ?? (hasAnswer(example) ? await ask(example) : example.passages.map(() => 0));
        held.set(name, teacherLogLikelihoods);
        taught.push({ ...example, teacherLogLikelihoods });
      }
      return taught;
    },
    [Symbol.asyncDispose]: () => runner[Symbol.asyncDispose](),
  };
}

const nameOf = ({ question, answer, passages }: TokenExample): string =>
  [question, answer, ...passages].map((ids) => ids.join()).join(" ");
