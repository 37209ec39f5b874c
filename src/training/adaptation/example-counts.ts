/** How many training examples an adaptation has and draws. */

import { DRAWN_PER_EXAMPLE } from "../examples/label-free-data.ts";
import { SENTENCES_PER_EXAMPLE } from "../examples/masked-sentence-data.ts";
import type { LabelFreeName, ResolvedAdaptOptions } from "../options/adapt-options.ts";
import type { AdaptationInputs } from "./inputs.ts";
import type { ChosenSources } from "./label-free.ts";

/** The largest number of the authors' experiments. */
const MAX_EXAMPLES = 100_000;
/** A tenth of these is enough for the retrieval monitor. */
const MIN_EXAMPLES = 1_000;

/** The examples to train on: those that can be made of documents, and those of the files. */
export function availableExamples({ sources, questions, labelled }: AdaptationInputs): number {
  const made = sources.labelFree.reduce((sum, { available }) => sum + available, 0);
  return questions.training.length + labelled.training.length + Math.min(made, MAX_EXAMPLES);
}

/** The examples of a label-free source to make for a run. Some are not used. */
export function wantedExamples(
  { iterations, steps, questions, weights = {} }: ResolvedAdaptOptions,
  { names }: ChosenSources,
  name: LabelFreeName,
): number {
  const sum = names.reduce((all, source) => all + (weights[source] ?? 1), 0);
  const examples = Math.ceil((iterations * steps * questions * (weights[name] ?? 1)) / sum);
  const drawn = examples * (name === "spans" ? SENTENCES_PER_EXAMPLE : DRAWN_PER_EXAMPLE);
  return Math.max(MIN_EXAMPLES, Math.min(MAX_EXAMPLES, Math.ceil(drawn)));
}
