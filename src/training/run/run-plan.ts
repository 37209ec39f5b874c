/** The plan of a run: what must be the same to resume it with the same result. */

import { createHash } from "node:crypto";
import type { ModelConfig } from "../../model/config.ts";
import { planEntries } from "../../options/records.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import { LOSS_VERSION } from "../loss/options.ts";
import type { ResolvedOptions } from "../options/run-options.ts";
import { TRAIN_OPTIONS } from "../options/train-options.ts";
import type { RunPlan } from "./checkpoint.ts";

/**
 * The names of the entries are those on disk; `plan` of each option gives them. An error names the
 * first entry that differs, so options come before digests.
 *
 * @param parameters the parameters at the start of the run
 * @param data digest of the examples
 * @param corpus digest of the corpus
 */
export function planOf(
  options: ResolvedOptions,
  { retrievalHead }: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  data: string,
  corpus: string,
): RunPlan {
  const chosen = planEntries(TRAIN_OPTIONS, { ...options });
  return {
    ...chosen,
    retrievalHead,
    lossVersion: LOSS_VERSION,
    ...{ data, corpus, model: digestParameters(parameters) },
  };
}

function digestParameters(parameters: ReadonlyMap<string, ParameterState>): string {
  const hash = createHash("sha256");
  for (const [name, { value }] of parameters) hash.update(name).update(value);
  return hash.digest("hex");
}
