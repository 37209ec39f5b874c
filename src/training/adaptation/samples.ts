/** Sample examples for the plan of an adaptation. */

import type { Corpus } from "../data/corpus.ts";
import { type LabelledQuery, labelledExample } from "../data/labelled-queries.ts";
import { sampleMaskedSentences } from "../data/sample-masked-sentences.ts";
import type { ResolvedAdaptOptions } from "../options/adapt-options.ts";
import { formatMaskedSentence } from "../salient-spans/index.ts";
import type { AdaptationInputs } from "./inputs.ts";

export interface AdaptationSample {
  readonly question: string;
  readonly answer: string;
  /** Question and answer, formatted. */
  readonly text: string;
}

/** Samples of each source. */
const SAMPLES = 5;

/** @throws {InputError} if masked sentences are a source and the corpus has no sentence to mask. */
export async function adaptationSamples(
  options: ResolvedAdaptOptions,
  corpus: Corpus,
  { sources, questions, labelled }: AdaptationInputs,
): Promise<AdaptationSample[]> {
  return [
    ...(sources.includes("spans") ? await maskedSamples(options, corpus) : []),
    ...questions.training
      .slice(0, SAMPLES)
      .map(({ question, answers }) => sample(question, answers[0]!)),
    ...(await labelSamples(options, corpus, labelled.training.slice(0, SAMPLES))),
  ];
}

async function maskedSamples(
  { seed, tagger }: ResolvedAdaptOptions,
  corpus: Corpus,
): Promise<AdaptationSample[]> {
  const samples: AdaptationSample[] = [];
  const wanted = corpus.size; // one of each passage, so that the first few passages are enough
  for await (const masked of sampleMaskedSentences(corpus, { wanted, seed, tagger })) {
    const { question, entity } = masked;
    if (samples.push({ question, answer: entity, text: formatMaskedSentence(masked) }) === SAMPLES)
      break;
  }
  return samples;
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
    return sample(question, answer);
  });
}

/** In the form of `formatMaskedSentence`. */
const sample = (question: string, answer: string): AdaptationSample => ({
  question,
  answer,
  text: `  question  ${oneLine(question)}\n  answer    ${oneLine(answer)}`,
});

const oneLine = (text: string): string => text.replace(/\s+/gu, " ");
