/** The label-free sources of an adaptation: which of them a corpus has, and samples of them. */

import { createHash } from "node:crypto";
import { InputError } from "../../io/errors.ts";
import { sentences } from "../../text/sentences.ts";
import type { Passages } from "../examples/example.ts";
import { type Documents, examplesOf } from "../examples/sources/index.ts";
import { isLabelFree, type LabelFreeName, type SourceName } from "../examples/sources/names.ts";
import { isDrawn, MAX_PER_PASSAGE } from "../examples/sources/sampling.ts";
import { wordsOf } from "../examples/sources/words.ts";
import {
  type AdaptOptions,
  checkSources,
  type RequestedSources,
  type SourceSettings,
} from "../options/adapt-options.ts";
import { type AdaptationSample, SAMPLES, sampleOf } from "./samples.ts";

/** What a corpus has of a source. */
export interface SourceSample {
  readonly name: LabelFreeName;
  /** About how many examples the whole corpus has. */
  readonly available: number;
  readonly samples: readonly AdaptationSample[];
}

export interface ChosenSources {
  readonly names: readonly SourceName[];
  readonly labelFree: readonly SourceSample[];
  /** Why these, if they were chosen automatically. */
  readonly reason?: string | undefined;
}

/** A source is chosen if it has this number of examples for each passage, or more. */
const MIN_PER_PASSAGE = 0.1;

/**
 * Samples the named sources. Adds those that suit the corpus, if they are to be chosen.
 *
 * @throws {InputError} if a named source has no example, and if no source can be chosen
 */
export async function chooseSources(
  { named, automatic }: RequestedSources,
  documents: Documents,
  options: SourceSettings & Pick<AdaptOptions, "seed">,
): Promise<ChosenSources> {
  const wanted = named.filter(isLabelFree);
  if (!automatic && wanted.length === 0) return { names: named, labelFree: [] };
  const { seed = 0 } = options;
  const corpus = await surveyedPart(documents.corpus, seed);
  const part = { ...documents, corpus };
  const found = await survey(corpus);
  const candidates = automatic ? suitable(found, documents) : [];
  const labelFree: SourceSample[] = [];
  for (const name of new Set([...candidates, ...wanted])) {
    const isNamed = wanted.includes(name);
    const sampled = await sampleSource(name, part, documents, seed);
    if (isNamed && sampled.available === 0) throw noExample([name], corpus.size);
    if (isNamed || sampled.available >= MIN_PER_PASSAGE * documents.corpus.size)
      labelFree.push(sampled);
  }
  const chosen = labelFree.map(({ name }) => name);
  if (automatic && chosen.length === 0) throw noExample(candidates, corpus.size);
  const names = [...chosen, ...named.filter((name) => !isLabelFree(name))];
  if (automatic) checkSources(names, options);
  return { names, labelFree, ...(automatic && { reason: describeSurvey(found, chosen) }) };
}

/**
 * The sources to try. The tagger is not loaded for text that it does not know. Generated questions
 * take long to make, and trained no better (docs/experiments/adaptation.md).
 */
function suitable(found: Survey, { tagger }: Documents): LabelFreeName[] {
  const spans: LabelFreeName[] = tagger || suitsTagger(found) ? ["spans"] : [];
  return [...spans, "crops", "titles", "phrases"];
}

/**
 * The first examples that a source makes of a part of the documents, and how many the whole has.
 * The tagger is slow: masked spans are not counted.
 */
async function sampleSource(
  name: LabelFreeName,
  part: Documents,
  whole: Documents,
  seed: number,
): Promise<SourceSample> {
  const isCounted = name !== "spans";
  const samples: AdaptationSample[] = [];
  let count = 0;
  for await (const example of examplesOf(name, part, {
    wanted: part.corpus.size * MAX_PER_PASSAGE,
    seed,
  })) {
    if (++count <= SAMPLES) samples.push(sampleOf(name, example));
    else if (!isCounted) break;
  }
  const perPassage = isCounted ? count / part.corpus.size : count > 0 ? MAX_PER_PASSAGE : 0;
  return { name, available: Math.ceil(perPassage * whole.corpus.size), samples };
}

const noExample = (names: readonly LabelFreeName[], passages: number): InputError =>
  new InputError({
    where: names.join(", "),
    expected: "an example",
    got: `none in ${passages} passages`,
    remedy: names.includes("spans")
      ? "choose other sources, or give a tagger for the language and field of the corpus"
      : "choose other sources, or adapt with questions or relevance labels",
  });

export interface Survey {
  /** Share of the passages that have a title. */
  readonly titles: number;
  /** Share of the texts of more than 20 words that have two sentences or more. */
  readonly sentenceEnds: number;
  /** Share of the words, except first words of sentences, that begin with a capital letter. */
  readonly capitals: number;
  /** Share of the words that are function words of English. */
  readonly english: number;
}

/** Passages that are looked at. */
const SURVEYED = 400;
/** These make up a quarter of English text, also of scientific abstracts. */
const ENGLISH = new Set("the of and in to a is for with that by".split(" "));
const MIN_ENGLISH = 0.12;
/** Below it, a text is in lower case; above it, in capitals, or in German. */
const CAPITALS = { min: 0.01, max: 0.5 };
const LONG_TEXT = 20;

/** A random part of a corpus, of about `SURVEYED` passages. */
async function surveyedPart(corpus: Passages, seed: number): Promise<Passages> {
  const accept = isDrawn(seed, "survey", SURVEYED / corpus.size);
  let size = 0;
  for await (const _ of corpus.passages(accept)) size++;
  return { size, passages: () => corpus.passages(accept) };
}

/**
 * Looks at passages.
 *
 * @throws {InputError} if they have no words, or if all have the same text: then there is nothing
 *   to tell apart
 */
export async function survey(part: Passages): Promise<Survey> {
  const texts = new Set<string>();
  const counts = { titles: 0, long: 0, ended: 0, words: 0, inner: 0, capitals: 0, english: 0 };
  for await (const { title, text } of part.passages()) {
    if (title.trim() !== "") counts.titles++;
    const words = wordsOf(text);
    if (words.length > 0) texts.add(createHash("sha256").update(text).digest("base64"));
    const found = sentences(text);
    const first = new Set(found.map(({ start }) => start));
    if (words.length > LONG_TEXT) counts.long++;
    if (words.length > LONG_TEXT && found.length > 1) counts.ended++;
    for (const { start, key } of words) {
      counts.words++;
      if (ENGLISH.has(key)) counts.english++;
      if (first.has(start)) continue;
      counts.inner++;
      if (/\p{Lu}/u.test(text[start]!)) counts.capitals++;
    }
  }
  if (texts.size < 2) throw nothingToTellApart(texts.size, part.size);
  return {
    titles: counts.titles / part.size,
    sentenceEnds: counts.ended / Math.max(1, counts.long),
    capitals: counts.capitals / Math.max(1, counts.inner),
    english: counts.english / Math.max(1, counts.words),
  };
}

/** Whether the tagger of names and dates suits the text. It knows English with capital letters. */
const suitsTagger = ({ capitals, english }: Survey): boolean =>
  english >= MIN_ENGLISH && capitals >= CAPITALS.min && capitals <= CAPITALS.max;

/** One line for the plan. */
function describeSurvey(
  { titles, sentenceEnds, capitals, english }: Survey,
  chosen: readonly LabelFreeName[],
): string {
  const percent = (share: number): string => `${Math.round(100 * share)} %`;
  const tagger = chosen.includes("spans") ? "" : ", no text for the tagger of names";
  return (
    `titles of ${percent(titles)} of passages, ` +
    `sentence ends in ${percent(sentenceEnds)} of long texts, ` +
    `capitals in ${percent(capitals)} and English function words in ${percent(english)} of words` +
    tagger
  );
}

const nothingToTellApart = (texts: number, passages: number): InputError =>
  new InputError({
    where: "adaptation to documents",
    expected: "two passages or more with different texts",
    got:
      texts === 0
        ? `no words in ${passages} ${passages === 1 ? "passage" : "passages"}`
        : `one text${passages > 1 ? ` in ${passages} passages` : ""}`,
    remedy: "split long documents into passages of about 100 words, or give data or labels",
  });
