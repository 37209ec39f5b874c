/** The retrieval test of an adaptation, made of held-out examples. */

import { containsAnswer } from "../../evaluation/answers.ts";
import { createRandom } from "../../math/random.ts";
import type { Passage } from "../../text/passage.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { LabelledQuery } from "../examples/labelled-queries.ts";
import { type LabelFreeExample, readAs } from "../examples/sources/example.ts";
import type { MonitorQuestion, MonitorSet } from "../examples/training-data.ts";
import type { TrainingQuestion } from "../examples/training-questions.ts";
import type { ResolvedAdaptOptions } from "../options/adapt-options.ts";
import { MASK, type MaskedSentence, removeMaskedSentence } from "../salient-spans/index.ts";
import { maxHeldOut } from "./inputs.ts";

/** Random passages beside the relevant ones. */
const MONITOR_PASSAGES = 400;
/** BM25's passages in which an answer is searched, for a question without a passage id. */
const ANSWER_DEPTH = 20;

/** The passages of a monitor set whose examples have one relevant passage each. */
export const monitoredPassages = (
  options: Pick<ResolvedAdaptOptions, "minutes">,
  corpusSize: number,
): number => Math.min(corpusSize, maxHeldOut(options) + MONITOR_PASSAGES);

/** Held-out examples of each source. */
export interface HeldOutExamples {
  readonly sentences: readonly MaskedSentence[];
  readonly labelFree: readonly LabelFreeExample[];
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
  { sentences, labelFree, questions, labelled }: HeldOutExamples,
): Promise<MonitorSet> {
  const known: MonitorQuestion[] = [
    ...labelled.map(({ question, relevant }) => ({
      question,
      relevant: relevant.map(({ passageId }) => passageId),
    })),
    ...(await withRelevant(corpus, [...questions, ...labelFree.flatMap(asQuestion)])),
  ];
  const bySource = new Map(sentences.map((masked) => [masked.passageId, masked]));
  const relevant = [
    ...known.flatMap((question) => question.relevant),
    ...bySource.keys(),
    ...labelFree.flatMap((example) => example.relevant),
  ];
  const passages = await corpus.pick(withRandom(relevant, corpus, seed));
  const readable = [...bySource.values()].flatMap(
    (masked) => removeMaskedSentence(masked, passages.get(masked.passageId)!) ?? [],
  );
  for (const passage of readable) passages.set(passage.id, passage);
  const sources = readable.length > 0 ? readable.map(({ id }) => id) : [...bySource.keys()];
  const masked = sources.map((id) => {
    const { question, entity } = bySource.get(id)!;
    return { question, relevant: [id], answers: [entity] };
  });
  const taken = new Set([...known.flatMap((question) => question.relevant), ...sources]);
  const made = labelFreeQuestions(labelFree, passages, taken);
  return {
    questions: [...known, ...masked, ...made],
    passages: [...passages.values()],
    every: monitorSteps,
  };
}

/** A masked sentence of another corpus: no passage of this one is known to be relevant. */
const asQuestion = ({ id, question, answer, relevant }: LabelFreeExample): TrainingQuestion[] =>
  relevant.length > 0 || answer === undefined
    ? []
    : [{ id, question: question.replace(MASK, " "), answers: [answer] }];

/**
 * The questions of label-free examples. Their passages take part as the examples read them, so each
 * passage serves one example only. Passages that serve none stay unchanged.
 *
 * @param passages is changed
 * @param taken passages that have to stay as they are
 */
function labelFreeQuestions(
  examples: readonly LabelFreeExample[],
  passages: Map<string, Passage>,
  taken: Set<string>,
): MonitorQuestion[] {
  return examples.flatMap((example) => {
    const { question, relevant, removal, answer } = example;
    const ids = [...new Set([...relevant, ...(removal.cut ? [removal.cut.passageId] : [])])];
    const changed = ids.flatMap((id) => {
      const passage = passages.get(id);
      return passage ? [{ id, read: readAs(example, passage), passage }] : [];
    });
    const isFree = changed.every(({ id, read, passage }) => read === passage || !taken.has(id));
    const left = relevant.filter((id) => changed.some((other) => other.id === id && other.read));
    if (!isFree || left.length === 0 || (removal.passageId && passages.has(removal.passageId)))
      return [];
    for (const { id, read } of changed) {
      taken.add(id);
      if (read) passages.set(id, read);
      else passages.delete(id);
    }
    return [{ question, relevant: left, ...(answer !== undefined && { answers: [answer] }) }];
  });
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
  const known = questions.flatMap(({ question, passageId, answers }) =>
    passageId === undefined ? [] : { question, relevant: [passageId], answers },
  );
  const others = questions.filter(({ passageId }) => passageId === undefined);
  if (others.length === 0) return known;
  const bm25 = await corpus.bm25();
  const retrieved = others.map(({ question }) =>
    bm25.search(question, ANSWER_DEPTH).map(({ id }) => id),
  );
  const passages = await corpus.pick(retrieved.flat());
  const answered = others.map(({ question, answers }, i) => ({
    ...{ question, answers },
    relevant: retrieved[i]!.filter((id) => containsAnswer(passages.get(id)!.text, answers)),
  }));
  return [...known, ...answered.filter(({ relevant }) => relevant.length > 0)];
}
