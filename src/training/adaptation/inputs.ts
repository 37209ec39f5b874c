/** What an adaptation trains on, as its files have it: read and checked before work starts. */

import { readQrels } from "../../evaluation/trec.ts";
import { createRandom } from "../../math/random.ts";
import { readQuestions } from "../../text/read-passages.ts";
import type { CorpusSurvey } from "../data/corpus.ts";
import { type LabelledQuery, labelledQueries } from "../data/labelled-queries.ts";
import { readQuestionsAbout, type TrainingQuestion } from "../data/training-questions.ts";
import type { AdaptOptions, SourceName } from "../options/adapt-options.ts";

/** What is trained on, and what retrieval is watched with. */
interface Split<T> {
  readonly training: readonly T[];
  readonly heldOut: readonly T[];
}

export interface AdaptationInputs {
  readonly sources: readonly SourceName[];
  readonly questions: Split<TrainingQuestion>;
  readonly labelled: Split<LabelledQuery>;
}

/** Questions of one source that retrieval is watched with. */
const MAX_HELD_OUT = 200;
/** Their share, where there are fewer examples. */
const HELD_OUT_SHARE = 0.1;

/** @throws {InputError} for files that can't be read, and for labels of other queries or another corpus. */
export async function readInputs(
  options: AdaptOptions,
  sources: readonly SourceName[],
  corpus: CorpusSurvey,
): Promise<AdaptationInputs> {
  const { data, dev, queries, qrels, seed = 0, signal } = options;
  const questions = data === undefined ? [] : await readQuestionsAbout(corpus, data, signal);
  const watched =
    dev === undefined
      ? undefined
      : (await readQuestionsAbout(corpus, dev, signal)).slice(0, MAX_HELD_OUT);
  const labelled =
    queries === undefined || qrels === undefined ? [] : await readLabels(queries, qrels, corpus);
  return {
    sources,
    questions: watched ? { training: questions, heldOut: watched } : holdOut(questions, seed),
    labelled: watched ? { training: labelled, heldOut: [] } : holdOut(labelled, seed),
  };
}

async function readLabels(
  queries: string,
  qrels: string,
  corpus: CorpusSurvey,
): Promise<LabelledQuery[]> {
  const texts = new Map((await readQuestions(queries)).map(({ id, question }) => [id, question]));
  return labelledQueries(texts, await readQrels(qrels), new Set(corpus.ids));
}

/** A tenth of the examples at random, at most 200; both parts in the order that they had. */
export function holdOut<T>(examples: readonly T[], seed: number): Split<T> {
  const count = Math.min(MAX_HELD_OUT, Math.floor(examples.length * HELD_OUT_SHARE));
  const places = new Set(
    createRandom(seed, "held out")
      .shuffle([...examples.keys()])
      .slice(0, count),
  );
  return {
    training: examples.filter((_, i) => !places.has(i)),
    heldOut: examples.filter((_, i) => places.has(i)),
  };
}
