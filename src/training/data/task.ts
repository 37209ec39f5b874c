/** What a run trains on, and what it watches while it does. */

import type { ProgressEvent } from "../../io/progress.ts";
import type { Passage } from "../../text/passage.ts";
import type { CandidateRetriever } from "./candidates.ts";
import type { ExampleSource } from "./example-source.ts";

/** What a run trains on. */
export interface TrainingTask {
  /** Identifies the data: a run is resumed only with the same. */
  readonly digest: string;
  /**
   * The examples of an iteration, counted from 0; or of a snapshot that searches in the background, by its step. `search`
   * finds passages with the model as it is then; the first iteration has none. Kept on disk, so that a run that is resumed
   * has the same.
   */
  prepare(
    iteration: number,
    search: CandidateRetriever | undefined,
  ): AsyncGenerator<ProgressEvent, ExampleSource>;
  /** With one, the run ends with the weights that retrieve best, and stops when retrieval falls away. */
  readonly monitor?: RetrievalMonitor | undefined;
}

/** A small retrieval test that is measured while training goes on. */
export interface RetrievalMonitor {
  readonly questions: readonly MonitoredQuestion[];
  /** What is searched: the relevant passages among others. */
  readonly passages: readonly Passage[];
  /** Steps between two measurements. */
  readonly every: number;
}

export interface MonitoredQuestion {
  readonly question: string;
  /** Ids of the passages that are right. */
  readonly relevant: readonly string[];
}
