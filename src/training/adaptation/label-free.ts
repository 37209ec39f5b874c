/** The label-free sources of an adaptation: which of them a corpus has, and samples of them. */

import { InputError } from "../../io/errors.ts";
import type { Passages } from "../examples/example.ts";
import { MAX_PER_PASSAGE } from "../examples/sources/sampling.ts";
import type { Source, SourceTraits } from "../examples/sources/source.ts";
import { type Survey, survey, surveyedPart } from "../examples/sources/survey.ts";
import {
  type AdaptOptions,
  checkSources,
  type FileSource,
  type RequestedSources,
  type SourceSettings,
} from "../options/adapt-options.ts";
import { type PlanSample, SAMPLES, sampleOf } from "../plan/samples.ts";

/** What a corpus has of a source. */
export interface SourceSample {
  readonly source: Source;
  /** About how many examples the whole corpus has. */
  readonly available: number;
  readonly samples: readonly PlanSample[];
}

export interface ChosenSources {
  readonly labelFree: readonly SourceSample[];
  readonly files: readonly FileSource[];
  /** Why these, if they were chosen automatically. */
  readonly reason?: string | undefined;
}

/** All sources of a run, in the order of its mixture. */
export const sourcesIn = ({ labelFree, files }: ChosenSources): readonly SourceTraits[] => [
  ...labelFree.map(({ source }) => source),
  ...files,
];

/** A source is chosen if it has this number of examples for each passage, or more. */
const MIN_PER_PASSAGE = 0.1;

/**
 * Samples the named sources. Adds those that suit the corpus, if they are to be chosen.
 *
 * @throws {InputError} if a named source has no example, and if no source can be chosen
 */
export async function chooseSources(
  { named, files, automatic }: RequestedSources,
  corpus: Passages,
  options: SourceSettings & Pick<AdaptOptions, "seed">,
): Promise<ChosenSources> {
  if (!automatic && named.length === 0) return { labelFree: [], files };
  const { seed = 0 } = options;
  const part = await surveyedPart(corpus, seed);
  const found = await survey(part);
  const candidates = automatic?.filter(({ suits }) => suits?.(found)) ?? [];
  const labelFree: SourceSample[] = [];
  for (const source of new Set([...candidates, ...named])) {
    const isNamed = named.includes(source);
    const sampled = await sampleSource(source, part, corpus.size, seed);
    if (isNamed && sampled.available === 0) throw noExample([source], part.size);
    if (isNamed || sampled.available >= MIN_PER_PASSAGE * corpus.size) labelFree.push(sampled);
  }
  const chosen = labelFree.map(({ source }) => source);
  if (!automatic) return { labelFree, files };
  if (chosen.length === 0) throw noExample(candidates, part.size);
  checkSources(namesOf([...chosen, ...files]), options);
  return { labelFree, files, reason: describeSurvey(found, chosen) };
}

const namesOf = (sources: readonly SourceTraits[]): string[] => sources.map(({ name }) => name);

/**
 * The first examples that a source makes of a part of the documents, and how many the whole has.
 * Those of a slow source are not counted.
 */
async function sampleSource(
  source: Source,
  part: Passages,
  passages: number,
  seed: number,
): Promise<SourceSample> {
  const samples: PlanSample[] = [];
  let count = 0;
  for await (const example of source.examples(part, {
    wanted: part.size * MAX_PER_PASSAGE,
    seed,
  })) {
    if (++count <= SAMPLES) samples.push(sampleOf(source.name, example));
    else if (source.isSlow) break;
  }
  const perPassage = source.isSlow ? (count > 0 ? MAX_PER_PASSAGE : 0) : count / part.size;
  return { source, available: Math.ceil(perPassage * passages), samples };
}

const noExample = (sources: readonly Source[], passages: number): InputError =>
  new InputError({
    where: namesOf(sources).join(", "),
    expected: "an example",
    got: `none in ${passages} passages`,
    remedy: namesOf(sources).includes("spans")
      ? "choose other sources, or give a tagger for the language and field of the corpus"
      : "choose other sources, or adapt with questions or relevance labels",
  });

/** One line for the plan. */
function describeSurvey(
  { titles, sentenceEnds, capitals, english }: Survey,
  chosen: readonly Source[],
): string {
  const percent = (share: number): string => `${Math.round(100 * share)} %`;
  const tagger = chosen.some(({ name }) => name === "spans")
    ? ""
    : ", no text for the tagger of names";
  return (
    `titles of ${percent(titles)} of passages, ` +
    `sentence ends in ${percent(sentenceEnds)} of long texts, ` +
    `capitals in ${percent(capitals)} and English function words in ${percent(english)} of words` +
    tagger
  );
}
