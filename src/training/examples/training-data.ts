/** The data of a training run: the examples of each iteration, and the held-out retrieval test. */

import type { ProgressEvent } from "../../io/progress.ts";
import type { Passage } from "../../text/passage.ts";
import type { CandidateRetriever } from "./candidates.ts";
import type { TextExamples } from "./step.ts";

export interface TrainingData {
  /** What kind of run it makes, in a sentence for the report. */
  readonly kind?: string | undefined;
  /** Identifies the data. A run is resumed only with data of the same digest. */
  readonly digest: string;
  /**
   * The examples of an iteration, with their candidates. The candidates are kept on disk, so that a
   * resumed run reads the same ones.
   *
   * @param iteration counted from 0; with a background refresh, the step of the snapshot
   * @param retriever retrieves with the current model; the first iteration has none
   */
  examples(
    iteration: number,
    retriever: CandidateRetriever | undefined,
  ): AsyncGenerator<ProgressEvent, TextExamples>;
  /**
   * If present, retrieval is measured during training: the run keeps the weights that retrieve
   * best, and stops if retrieval collapses.
   */
  readonly monitorSet?: MonitorSet | undefined;
  /**
   * Log weights of the tokens of the vocabulary. The run takes them as its first step if retrieval
   * with them is better.
   */
  readonly tokenWeights?: (() => Promise<Float32Array>) | undefined;
}

/** A small retrieval test for the retrieval monitor. */
export interface MonitorSet {
  readonly questions: readonly MonitorQuestion[];
  /** The passages to search: the relevant ones and others. */
  readonly passages: readonly Passage[];
  /** Steps between two measurements. */
  readonly every: number;
}

export interface MonitorQuestion {
  readonly question: string;
  /** Ids of the relevant passages. */
  readonly relevant: readonly string[];
  /** Accepted answers, if any are known. */
  readonly answers?: readonly string[] | undefined;
}
