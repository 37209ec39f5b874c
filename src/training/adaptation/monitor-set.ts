/** The retrieval test of an adaptation, made of held-out examples. */

import { containsAnswer } from "../../evaluation/answers.ts";
import { createRandom } from "../../math/random.ts";
import type { Corpus } from "../data/corpus.ts";
import type { LabelledQuery } from "../data/labelled-queries.ts";
import type { MonitorQuestion, MonitorSet } from "../data/training-data.ts";
import type { TrainingQuestion } from "../data/training-questions.ts";
import type { ResolvedAdaptOptions } from "../options/adapt-options.ts";
import { type MaskedSentence, removeMaskedSentence } from "../salient-spans/index.ts";

/** Random passages beside the relevant ones. */
export const MONITOR_PASSAGES = 400;
/** BM25's passages in which an answer is searched, for a question without a passage id. */
const ANSWER_DEPTH = 20;

/** Held-out examples of each source. */
export interface HeldOutExamples {
  readonly sentences: readonly MaskedSentence[];
  readonly questions: readonly TrainingQuestion[];
  readonly labelled: readonly LabelledQuery[];
}

/**
 * Makes the monitor set. The source passage of a masked sentence takes part without the sentence,
 * which would make it easy to find. If no source passage has other text, they take part unchanged:
 * then the monitor can at least detect a collapse.
 */
export async function createMonitorSet(
  { seed, monitorSteps }: ResolvedAdaptOptions,
  corpus: Corpus,
  { sentences, questions, labelled }: HeldOutExamples,
): Promise<MonitorSet> {
  const known: MonitorQuestion[] = [
    ...labelled.map(({ question, relevant }) => ({
      question,
      relevant: relevant.map(({ passageId }) => passageId),
    })),
    ...(await withRelevant(corpus, questions)),
  ];
  const bySource = new Map(sentences.map((masked) => [masked.passageId, masked]));
  const relevant = [...known.flatMap((question) => question.relevant), ...bySource.keys()];
  const passages = await corpus.pick(withRandom(relevant, corpus, seed));
  const readable = [...bySource.values()].flatMap(
    (masked) => removeMaskedSentence(masked, passages.get(masked.passageId)!) ?? [],
  );
  for (const passage of readable) passages.set(passage.id, passage);
  const sources = readable.length > 0 ? readable.map(({ id }) => id) : [...bySource.keys()];
  const masked = sources.map((id) => ({ question: bySource.get(id)!.question, relevant: [id] }));
  return {
    questions: [...known, ...masked],
    passages: [...passages.values()],
    every: monitorSteps,
  };
}

/** The ids and 400 random others, or the whole corpus. */
function withRandom(ids: readonly string[], corpus: Corpus, seed: number): Set<string> {
  const random = createRandom(seed, "probe");
  const drawn = new Set(ids);
  const count = Math.min(corpus.size, drawn.size + MONITOR_PASSAGES);
  while (drawn.size < count) drawn.add(corpus.ids[random.integer(corpus.size)]!);
  return drawn;
}

/**
 * A question's relevant passages: the one that it was asked about, or else those of BM25's first 20
 * that contain an answer. Questions without a relevant passage are left out.
 */
async function withRelevant(
  corpus: Corpus,
  questions: readonly TrainingQuestion[],
): Promise<MonitorQuestion[]> {
  const known = questions.flatMap(({ question, passageId }) =>
    passageId === undefined ? [] : { question, relevant: [passageId] },
  );
  const others = questions.filter(({ passageId }) => passageId === undefined);
  if (others.length === 0) return known;
  const bm25 = await corpus.bm25();
  const retrieved = others.map(({ question }) =>
    bm25.search(question, ANSWER_DEPTH).map(({ id }) => id),
  );
  const passages = await corpus.pick(retrieved.flat());
  const answered = others.map(({ question, answers }, i) => ({
    question,
    relevant: retrieved[i]!.filter((id) => containsAnswer(passages.get(id)!.text, answers)),
  }));
  return [...known, ...answered.filter(({ relevant }) => relevant.length > 0)];
}
