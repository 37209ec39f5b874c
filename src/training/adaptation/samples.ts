/** Some examples of what an adaptation trains on, before hours are spent on it. */

import { readPassages } from "../../text/read-passages.ts";
import { type CorpusSurvey, pickPassages } from "../data/corpus.ts";
import { retrievalExample } from "../data/labelled-queries.ts";
import { sampledSentences } from "../data/masked-task.ts";
import type { ResolvedAdaptOptions } from "../options/adapt-options.ts";
import { formatMaskedSentence } from "../salient-spans/index.ts";
import type { AdaptationInputs } from "./inputs.ts";

export interface AdaptationSample {
  readonly question: string;
  readonly answer: string;
  /** For people. */
  readonly text: string;
}

/** Of each source. */
const SAMPLES = 5;

/** @throws {InputError} for a corpus without a sentence to mask, where that is asked for. */
export async function adaptationSamples(
  options: ResolvedAdaptOptions,
  corpus: CorpusSurvey,
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
  { corpus: file, seed, tagger, signal }: ResolvedAdaptOptions,
  corpus: CorpusSurvey,
): Promise<AdaptationSample[]> {
  const samples: AdaptationSample[] = [];
  const wanted = corpus.ids.length; // one of each passage, so that the first few passages will do
  for await (const masked of sampledSentences(readPassages(file, signal), corpus, {
    wanted,
    seed,
    tagger,
  })) {
    const { question, entity } = masked;
    if (samples.push({ question, answer: entity, text: formatMaskedSentence(masked) }) === SAMPLES)
      break;
  }
  return samples;
}

async function labelSamples(
  { corpus: file, seed, signal }: ResolvedAdaptOptions,
  corpus: CorpusSurvey,
  queries: AdaptationInputs["labelled"]["training"],
): Promise<AdaptationSample[]> {
  if (queries.length === 0) return [];
  const ids = queries.flatMap(({ relevant }) => relevant.map(({ passageId }) => passageId));
  const passages = await pickPassages(file, ids, corpus.digest, signal);
  return queries.map((query) => {
    const { question, answer } = retrievalExample(query, (id) => passages.get(id)!, {
      seed,
      step: 0,
    });
    return sample(question, answer);
  });
}

/** As masked sentences are shown. */
const sample = (question: string, answer: string): AdaptationSample => ({
  question,
  answer,
  text: `  question  ${oneLine(question)}\n  answer    ${oneLine(answer)}`,
});

const oneLine = (text: string): string => text.replace(/\s+/gu, " ");
