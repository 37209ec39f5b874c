/** The settings of candidate lists that follow from the options of a run. */

import type { CandidateSettings } from "../examples/with-candidates.ts";
import type { ResolvedOptions } from "../options/train-options.ts";

export const candidateSettings = (options: ResolvedOptions): CandidateSettings => {
  const { objective } = options;
  return {
    ...options,
    learnsReading: objective !== "retrieval",
    learnsRelevance: objective !== "qa" && objective !== "marginal",
  };
};
