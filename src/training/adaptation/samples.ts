/** Sample examples for the plan of an adaptation. */

import type { Corpus } from "../examples/corpus.ts";
import { type LabelledQuery, labelledExample } from "../examples/labelled-queries.ts";
import type { ResolvedAdaptOptions } from "../options/adapt-options.ts";
import type { AdaptationInputs } from "./inputs.ts";
import { type AdaptationSample, SAMPLES, sampleOf } from "./label-free.ts";

export async function adaptationSamples(
  options: ResolvedAdaptOptions,
  corpus: Corpus,
  { sources, questions, labelled }: AdaptationInputs,
): Promise<AdaptationSample[]> {
  return [
    ...sources.labelFree.flatMap(({ samples }) => samples),
    ...questions.training
      .slice(0, SAMPLES)
      .map(({ question, answers }) => sampleOf("questions", question, answers[0]!)),
    ...(await labelSamples(options, corpus, labelled.training.slice(0, SAMPLES))),
  ];
}

async function labelSamples(
  { seed }: ResolvedAdaptOptions,
  corpus: Corpus,
  queries: readonly LabelledQuery[],
): Promise<AdaptationSample[]> {
  const ids = queries.flatMap(({ relevant }) => relevant.map(({ passageId }) => passageId));
  const passages = await corpus.pick(ids);
  const draw = { seed, step: 0 };
  return queries.map((query) => {
    const { question, answer } = labelledExample(query, (id) => passages.get(id)!, draw);
    return sampleOf("labels", question, answer);
  });
}
