/** The input files of an adaptation, read and checked before it starts. */

import { readQrels } from "../../evaluation/trec.ts";
import { createRandom } from "../../math/random.ts";
import { readQuestions } from "../../text/read-passages.ts";
import type { Corpus } from "../examples/corpus.ts";
import { type LabelledQuery, labelledQueries } from "../examples/labelled-queries.ts";
import { readable } from "../examples/sources/readable.ts";
import { openSentences } from "../examples/sources/sentence-file.ts";
import { readQuestionsAbout, type TrainingQuestion } from "../examples/training-questions.ts";
import { type AdaptOptions, trainingPassageTokens } from "../options/adapt-options.ts";
import { DEV_QUESTIONS } from "../options/run-options.ts";
import type { ChosenSources, LabelFreeInputs } from "./label-free.ts";

/** Examples to train on, and examples for the retrieval monitor. */
interface Split<T> {
  readonly training: readonly T[];
  readonly heldOut: readonly T[];
}

export interface AdaptationInputs {
  readonly sources: ChosenSources;
  readonly labelFree: LabelFreeInputs;
  readonly questions: Split<TrainingQuestion>;
  readonly labelled: Split<LabelledQuery>;
}

const MAX_HELD_OUT = 600;
/** Fewer in a short run: each measurement of retrieval indexes their passages. */
const HELD_OUT_PER_MINUTE = 20;
/** The share of the examples to hold out, if that is fewer. */
const HELD_OUT_SHARE = 0.1;

/** Maximum number of held-out examples of each source; label-free sources share it. */
export const maxHeldOut = ({ minutes = Infinity }: Pick<AdaptOptions, "minutes">): number =>
  Math.min(MAX_HELD_OUT, Math.ceil(HELD_OUT_PER_MINUTE * minutes));

/**
 * Opens what label-free examples are made of.
 *
 * @throws {InputError} if the file of sentences cannot be read
 */
export async function openLabelFreeInputs(
  { sentences, signal, ...limits }: AdaptOptions,
  corpus: Corpus,
): Promise<LabelFreeInputs> {
  return {
    corpus: readable(corpus, trainingPassageTokens(limits)),
    sentences: sentences === undefined ? undefined : await openSentences(sentences, signal),
  };
}

/** @throws {InputError} if a file cannot be read, or is about other queries or another corpus. */
export async function readInputs(
  options: AdaptOptions,
  sources: ChosenSources,
  labelFree: LabelFreeInputs,
  corpus: Corpus,
): Promise<AdaptationInputs> {
  const { data, dev, queries, qrels, seed = 0, signal } = options;
  const questions = data === undefined ? [] : await readQuestionsAbout(corpus, data, signal);
  const devQuestions =
    dev === undefined
      ? undefined
      : (await readQuestionsAbout(corpus, dev, signal)).slice(
          0,
          options.devQuestions ?? DEV_QUESTIONS,
        );
  const labelled =
    queries === undefined || qrels === undefined ? [] : await readLabels(queries, qrels, corpus);
  if (devQuestions)
    return {
      sources,
      labelFree,
      questions: { training: questions, heldOut: devQuestions },
      labelled: { training: labelled, heldOut: [] },
    };
  return {
    sources,
    labelFree,
    questions: holdOut(questions, seed, maxHeldOut(options)),
    labelled: holdOut(labelled, seed, maxHeldOut(options)),
  };
}

async function readLabels(
  queries: string,
  qrels: string,
  corpus: Corpus,
): Promise<LabelledQuery[]> {
  const texts = new Map((await readQuestions(queries)).map(({ id, question }) => [id, question]));
  return labelledQueries(texts, await readQrels(qrels), new Set(corpus.ids));
}

/** Holds out a random tenth of the examples, at most `max`. Both parts keep their order. */
export function holdOut<T>(examples: readonly T[], seed: number, max: number): Split<T> {
  const count = Math.min(max, Math.floor(examples.length * HELD_OUT_SHARE));
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
