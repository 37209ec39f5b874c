/** What must be the same for a run to go on as if it had not stopped. */

import { createHash } from "node:crypto";
import type { ModelConfig } from "../../model/config.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import type { RunPlan } from "./checkpoint.ts";

const TRAINED = { all: "all", projection: "query side", layers: "query encoder" } as const;

/**
 * By name, what a person chose first. `parameters` are those that the run begins with; `data` and `corpus` are digests.
 */
export function planOf(
  options: ResolvedOptions,
  { retrievalHead }: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  data: string,
  corpus: string,
): RunPlan {
  const {
    unsupervisedSteps,
    qaSteps,
    iterations,
    steps,
    questions,
    candidatesPerQuestion,
    nullPassage,
  } = options;
  const {
    objective,
    alpha,
    copyAttention,
    inBatchNegatives,
    tau = "fixed head",
    querySide,
  } = options;
  const { refresh, refreshSteps } = options;
  const {
    learningRate,
    dropout = "of the model",
    maxPassageTokens,
    maxAnswerTokens,
    engine,
    seed,
  } = options;
  return {
    ...{ unsupervisedSteps, iterations, steps, qaSteps, questions },
    closePassages: candidatesPerQuestion,
    nullPassage: nullPassage ? "one" : "none",
    ...(copyAttention ? { pointer: copyAttention } : {}),
    ...{
      objective,
      alpha,
      candidates: inBatchNegatives ? "batch" : "own",
      retrievalHead,
      tau,
      trained: TRAINED[querySide ?? "all"],
    },
    // a run that says nothing of it waited between iterations, as all did before there was a choice
    ...(refresh === "iterations" ? {} : { refresh }),
    ...(refresh === "background" ? { refreshSteps } : {}),
    ...{ learningRate, dropout, maxPassageTokens, maxAnswerTokens, engine, seed },
    ...{ data, corpus, model: digestParameters(parameters) },
  };
}

function digestParameters(parameters: ReadonlyMap<string, ParameterState>): string {
  const hash = createHash("sha256");
  for (const [name, { value }] of parameters) hash.update(name).update(value);
  return hash.digest("hex");
}
