/**
 * What a reader that a run does not train says of the candidates of its examples, for objectives
 * that learn from it (objectives/likelihood.ts): log P(answer | question, candidate), without
 * dropout. It is computed once for each question, answer and candidate, and held.
 */

import type { ModelConfig } from "../../model/config.ts";
import { readingNames } from "../../model/parameter-names.ts";
import { chunkQuestions } from "../gradient-cache/chunk-size.ts";
import { chunksOf } from "../gradient-cache/chunks.ts";
import type { Teacher } from "../gradient-cache/gradient-cache.ts";
import { TEACHER } from "../objectives/forward.ts";
import { defineObjective } from "../objectives/objective.ts";
import type { StepPlan, StepSettings } from "../objectives/passes.ts";
import { hasAnswer, type TokenExample } from "../objectives/token-batch.ts";
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
  const reading = readingNames(config);
  if ([...settings.trained.names].some((name) => reading.has(name))) return undefined;
  const runner = openGraphRunner(parameters, {});
  const passes = onnxPasses(config, parameters, { ...settings, dropout: 0 }, runner);
  const held = new Map<string, number>();
  const plan: StepPlan = {
    ...{ objectives: [asking], tau: settings.tau },
    held: states.layers(true),
  };
  const ask = async (examples: readonly TokenExample[]): Promise<void> => {
    const chunks = chunksOf(config, examples, chunkQuestions(examples, true), plan, []);
    for (const chunk of chunks) {
      const { tensors } =
        plan.held === undefined ? chunk : await states.withStates(chunk, plan.held);
      const { [TEACHER]: said } = await passes.keep(plan, tensors, {});
      const { K } = chunk.batch.sizes;
      for (const [row, example] of chunk.batch.examples.entries())
        for (const [k, name] of namesOf(example).entries())
          held.set(name, said!.data[row * K + k]!);
    }
  };
  return {
    async teach(examples) {
      const isNew = (example: TokenExample): boolean =>
        hasAnswer(example) && namesOf(example).some((name) => !held.has(name));
      const missing = examples.filter(isNew);
      if (missing.length > 0) await ask(missing);
      return examples.map((example) => ({
        ...example,
        teacherLogLikelihoods: namesOf(example).map((name) => held.get(name) ?? 0),
      }));
    },
    [Symbol.asyncDispose]: () => runner[Symbol.asyncDispose](),
  };
}

/** Names each candidate with its question and answer. */
const namesOf = ({ question, answer, passages }: TokenExample): string[] =>
  passages.map((passage) => [question, answer, passage].map((ids) => ids.join()).join(" "));
