/** What must be the same to resume a run with the same result. */

import { createHash } from "node:crypto";
import { retrievalHead } from "../../model/config.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { RunPlan } from "./checkpoint.ts";
import type { Run } from "./run.ts";

/** The decisions of a run by the names of their options, without files and without the device. */
export function decisionsOf(run: Run): RunPlan {
  const { part, layers, tau, seed, config } = run;
  const { engine } = run.device;
  const { pooling, similarity } = config.retrievalAttention;
  const all = {
    ...{ train: part, layers, ...run.objective, ...run.batch, ...run.schedule },
    ...{
      ...run.optimizer,
      tau,
      seed,
      engine,
      retrievalHead: retrievalHead(config),
      pooling,
      similarity,
    },
  };
  const entries = Object.entries(all).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as RunPlan;
}

/**
 * The plan of a run. An error names the first entry that differs, so decisions come before digests.
 *
 * @param parameters the parameters at the start of the run
 * @param data digest of the examples
 * @param corpus digest of the corpus
 */
export const planOf = (
  run: Run,
  parameters: ReadonlyMap<string, ParameterState>,
  data: string,
  corpus: string,
): RunPlan => ({
  ...decisionsOf(run),
  ...{ data, corpus, model: digestParameters(parameters) },
});

function digestParameters(parameters: ReadonlyMap<string, ParameterState>): string {
  const hash = createHash("sha256");
  for (const [name, { value }] of parameters) hash.update(name).update(value);
  return hash.digest("hex");
}
