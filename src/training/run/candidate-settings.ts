/** The settings of candidate lists that a run has decided. */

import type { CandidateSettings } from "../examples/with-candidates.ts";
import type { Run } from "./run.ts";

export const candidateSettings = (run: Run): CandidateSettings => {
  const { out, resume, seed, signal } = run;
  const { steps } = run.schedule;
  const { objective } = run.objective;
  return {
    ...run.batch,
    ...{ out, resume, seed, signal, steps },
    learnsReading: objective !== "retrieval",
    learnsRelevance: objective !== "qa" && objective !== "marginal",
  };
};
