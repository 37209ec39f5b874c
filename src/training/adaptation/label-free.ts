/** The label-free sources of an adaptation: which of them a corpus has, and samples of them. */

import { InputError } from "../../io/errors.ts";
import { type Documents, examplesOf } from "../examples/sources/index.ts";
import { isLabelFree, type LabelFreeName, type SourceName } from "../examples/sources/names.ts";
import { MAX_PER_PASSAGE } from "../examples/sources/sampling.ts";
import {
  type AdaptOptions,
  checkSources,
  type RequestedSources,
  type SourceSettings,
} from "../options/adapt-options.ts";
import { type AdaptationSample, SAMPLES, sampleOf } from "./samples.ts";
import { describeSurvey, type Survey, suitsTagger, survey, surveyedPart } from "./survey.ts";

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
