/** How many training examples an adaptation has and draws. */

import type { Corpus } from "../data/corpus.ts";
import { SENTENCES_PER_EXAMPLE } from "../data/masked-sentence-data.ts";
import { MAX_PER_PASSAGE } from "../data/sources/sampling.ts";
import type { ResolvedAdaptOptions, SourceName } from "../options/adapt-options.ts";
import type { AdaptationInputs } from "./inputs.ts";

/** The largest number of the authors' experiments. */
const MAX_SENTENCES = 100_000;
/** A tenth of these is enough for the retrieval monitor. */
const MIN_SENTENCES = 1_000;

/** The examples to train on: up to five sentences of each passage, and those of the files. */
export function availableExamples(
  { sources, questions, labelled }: AdaptationInputs,
  { size }: Corpus,
): number {
  const sentences = Math.min(size * MAX_PER_PASSAGE, MAX_SENTENCES);
  const given = questions.training.length + labelled.training.length;
  return given + (sources.includes("spans") ? sentences : 0);
}

/** The masked sentences to make for a run. */
export function wantedSentences(
  { iterations, steps, questions, weights = {} }: ResolvedAdaptOptions,
  sources: readonly SourceName[],
): number {
  const sum = sources.reduce((all, source) => all + (weights[source] ?? 1), 0);
  const examples = Math.ceil((iterations * steps * questions * (weights.spans ?? 1)) / sum);
  return Math.max(MIN_SENTENCES, Math.min(MAX_SENTENCES, SENTENCES_PER_EXAMPLE * examples));
}
