/** The label-free sources of an adaptation: which of them a corpus has, and their examples. */

import { InputError } from "../../io/errors.ts";
import { sampleMaskedSentences } from "../examples/sample-masked-sentences.ts";
import { crops } from "../examples/sources/crops.ts";
import type { LabelFreeExample, Passages } from "../examples/sources/example.ts";
import { generatedQuestions } from "../examples/sources/generated-questions.ts";
import { maskedSpans } from "../examples/sources/masked-spans.ts";
import { countPhrases } from "../examples/sources/phrase-table.ts";
import { phrases } from "../examples/sources/phrases.ts";
import { MAX_PER_PASSAGE, type Sample } from "../examples/sources/sampling.ts";
import { titles } from "../examples/sources/titles.ts";
import {
  type AdaptOptions,
  checkSources,
  isLabelFree,
  type LabelFreeName,
  type RequestedSources,
  type SourceName,
  type SourceSettings,
} from "../options/adapt-options.ts";
import { formatMaskedSentence, type Tagger } from "../salient-spans/index.ts";
import { describeSurvey, look, type Survey, suitsTagger, survey, surveyedPart } from "./survey.ts";

/** What examples are made of. */
export interface LabelFreeInputs {
  readonly corpus: Passages;
  /** Sentences to mask instead of those of the corpus. */
  readonly sentences: Passages | undefined;
}

/** What a corpus has of a source. */
export interface SourceSample {
  readonly name: LabelFreeName;
  /** About how many examples the whole corpus has. */
  readonly available: number;
  readonly samples: readonly AdaptationSample[];
}

export interface AdaptationSample {
  readonly question: string;
  /** Empty for an example that trains retrieval alone. */
  readonly answer: string;
  /** Question and answer, formatted. */
  readonly text: string;
}

export interface ChosenSources {
  readonly names: readonly SourceName[];
  readonly labelFree: readonly SourceSample[];
  /** Why these, if they were chosen automatically. */
  readonly reason?: string | undefined;
}

/** Samples of each source. */
export const SAMPLES = 5;
/** A source is chosen if it has this number of examples for each passage, or more. */
const MIN_PER_PASSAGE = 0.1;

/**
 * Samples the named sources. Adds those that suit the corpus, if they are to be chosen.
 *
 * @throws {InputError} if a named source has no example, and if no source can be chosen
 */
export async function chooseSources(
  { named, automatic }: RequestedSources,
  inputs: LabelFreeInputs,
  options: SourceSettings & Pick<AdaptOptions, "seed">,
): Promise<ChosenSources> {
  const wanted = named.filter(isLabelFree);
  if (!automatic && wanted.length === 0) return { names: named, labelFree: [] };
  const { seed = 0, tagger } = options;
  const part = await surveyedPart(inputs.corpus, seed);
  const sentences = inputs.sentences && (await surveyedPart(inputs.sentences, seed));
  const found = await survey(part);
  const candidates = automatic ? await suitable(found, sentences, tagger) : [];
  const labelFree: SourceSample[] = [];
  for (const name of candidatesAndNamed(candidates, wanted)) {
    const isNamed = wanted.includes(name);
    const sampled = await sampleSource(
      name,
      { corpus: part, sentences },
      inputs,
      seed,
      tagger,
    ).catch((error: unknown) => {
      if (isNamed || !(error instanceof InputError)) throw error;
      return { name, available: 0, samples: [] };
    });
    if (isNamed && sampled.available === 0) throw noExample([name], part.size);
    const { size } = usesSentences(name, inputs) ? inputs.sentences! : inputs.corpus;
    if (isNamed || sampled.available >= MIN_PER_PASSAGE * size) labelFree.push(sampled);
  }
  const chosen = labelFree.map(({ name }) => name);
  if (automatic && chosen.length === 0) throw noExample(candidates, part.size);
  const names = [...chosen, ...named.filter((name) => !isLabelFree(name))];
  if (automatic) checkSources(names, options);
  return { names, labelFree, ...(automatic && { reason: describeSurvey(found, chosen) }) };
}

const candidatesAndNamed = (
  candidates: readonly LabelFreeName[],
  named: readonly LabelFreeName[],
): LabelFreeName[] => [...new Set([...candidates, ...named])];

/**
 * The sources to try. The tagger is not loaded for text that it does not know. Generated questions
 * take long to make, and trained no better (docs/experiments/adaptation.md).
 */
async function suitable(
  corpus: Survey,
  sentences: Passages | undefined,
  tagger: Tagger | undefined,
): Promise<LabelFreeName[]> {
  const masked = sentences ? (await look(sentences)).survey : corpus;
  const spans: LabelFreeName[] = tagger || suitsTagger(masked) ? ["spans"] : [];
  return [...spans, "crops", "titles", "phrases"];
}

async function sampleSource(
  name: LabelFreeName,
  part: LabelFreeInputs,
  whole: LabelFreeInputs,
  seed: number,
  tagger: Tagger | undefined,
): Promise<SourceSample> {
  const ofSentences = usesSentences(name, part);
  const [of, all] = ofSentences
    ? [part.sentences!.size, whole.sentences!.size]
    : [part.corpus.size, whole.corpus.size];
  if (name === "spans" && !ofSentences)
    return {
      name,
      available: all * MAX_PER_PASSAGE,
      samples: await spanSamples(part.corpus, seed, tagger),
    };
  const sample = { wanted: ofSentences ? of : of * MAX_PER_PASSAGE, seed };
  const samples: AdaptationSample[] = [];
  let count = 0;
  for await (const { question, answer = "" } of labelFreeExamples(name, part, sample, tagger)) {
    if (samples.length < SAMPLES) samples.push(sampleOf(name, question, answer));
    count++;
  }
  return { name, available: Math.ceil((count / of) * all), samples };
}

const usesSentences = (name: LabelFreeName, { sentences }: LabelFreeInputs): boolean =>
  sentences !== undefined && (name === "spans" || name === "phrases");

/**
 * The examples of a source. Masked spans of the corpus itself: `loadMaskedSentences`. Generated
 * questions still have to be answered: `answerable`.
 */
export async function* labelFreeExamples(
  name: LabelFreeName,
  { corpus, sentences }: LabelFreeInputs,
  sample: Sample,
  tagger?: Tagger,
): AsyncGenerator<LabelFreeExample, void> {
  if (name === "crops") yield* crops(corpus, sample);
  else if (name === "titles") yield* titles(corpus, sample);
  else if (name === "generated") yield* generatedQuestions(corpus, sample);
  else if (name === "spans") yield* maskedSpans(sentences ?? corpus, sample, tagger);
  else if (!sentences) yield* phrases(corpus, sample);
  else {
    const table = await countPhrases(corpus, sample.seed);
    yield* phrases(sentences, { ...sample, table, onlyMasked: true });
  }
}

async function spanSamples(
  corpus: Passages,
  seed: number,
  tagger: Tagger | undefined,
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

/** A sample in the form of `formatMaskedSentence`. */
export const sampleOf = (source: string, question: string, answer: string): AdaptationSample => ({
  question,
  answer,
  text: [
    source,
    `  question  ${oneLine(question.replace("<extra_id_0>", "____"))}`,
    ...(answer === "" ? [] : [`  answer    ${oneLine(answer)}`]),
  ].join("\n"),
});

const oneLine = (text: string): string => text.replace(/\s+/gu, " ");

const noExample = (names: readonly LabelFreeName[], passages: number): InputError =>
  new InputError({
    where: names.join(", "),
    expected: "an example",
    got: `none in ${passages} passages`,
    remedy: "choose other sources, or adapt with questions or relevance labels",
  });
