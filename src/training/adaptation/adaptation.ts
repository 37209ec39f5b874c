/** An adaptation, decided once: a run, and what only adaptations have. */

import type { SourceName } from "../examples/sources/names.ts";
import type { AdaptRequest } from "../options/adapt-options.ts";
import { type Run, resolveRun, type StartingModel } from "../run/run.ts";
import { withTokenWeights } from "./token-weights.ts";

export interface Adaptation extends Run {
  /** Minutes that everything may take. Undefined: no limit. */
  readonly minutes: number | undefined;
  /** Steps between two measurements of retrieval. */
  readonly monitorSteps: number;
  /** Relative frequency of the sources. */
  readonly weights: Readonly<Partial<Record<SourceName, number>>>;
}

/**
 * Decides everything that options, model and corpus determine.
 *
 * @throws {InputError} as `resolveRun` does
 */
export function resolveAdaptation(
  options: AdaptRequest,
  start: StartingModel,
  corpus: { readonly size: number },
): Adaptation {
  // The retrieval monitor measures on `dev`, and chooses the model.
  const config = withTokenWeights(start.config, options);
  const run = resolveRun({ ...options, dev: undefined }, { ...start, config }, corpus);
  const { minutes, monitorSteps, weights = {} } = options;
  return { ...run, minutes, monitorSteps, weights };
}
