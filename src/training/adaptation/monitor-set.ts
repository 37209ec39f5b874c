/** The retrieval test of an adaptation, made of held-out examples. */

import { containsAnswer } from "../../evaluation/answers.ts";
import { createRandom } from "../../math/random.ts";
import type { Passage } from "../../text/passage.ts";
import type { Corpus } from "../examples/corpus.ts";
import { type Example, readAs } from "../examples/example.ts";
import type { MonitorQuestion, MonitorSet } from "../examples/training-data.ts";
import { type Adaptation, maxHeldOut } from "./adaptation.ts";

/** Random passages beside the relevant ones. */
const MONITOR_PASSAGES = 400;
/** BM25's passages in which an answer is searched, for a question without a relevant passage. */
const ANSWER_DEPTH = 20;

/** The passages of a monitor set whose examples have one relevant passage each. */
export const monitoredPassages = (
  options: Pick<Adaptation, "minutes">,
  corpusSize: number,
): number => Math.min(corpusSize, maxHeldOut(options) + MONITOR_PASSAGES);

/**
 * Makes the monitor set. The passages of an example made of documents take part as it reads them:
 * with the sentence, it would be easy to find. If that leaves no question, they take part
 * unchanged: then the monitor can at least detect a collapse.
 */
export async function createMonitorSet(
  { seed, monitorSteps }: Pick<Adaptation, "seed" | "monitorSteps">,
  corpus: Corpus,
  heldOut: readonly Example[],
): Promise<MonitorSet> {
  const known = await withRelevant(
    corpus,
    heldOut.filter(({ removal }) => !removal),
  );
  const made = heldOut.filter(({ removal }) => removal);
  const relevant = [...known, ...made].flatMap((example) => example.relevant);
  const passages = await corpus.pick(withRandom(relevant, corpus, seed));
  const taken = new Set(known.flatMap((question) => question.relevant));
  const changed = changedQuestions(made, passages, taken);
  const others = changed.length + known.length > 0 ? changed : made.map(questionOf);
  return {
    questions: [...known, ...others],
    passages: [...passages.values()],
    every: monitorSteps,
  };
}

const questionOf = ({ question, relevant, answers }: Example): MonitorQuestion => ({
  question,
  relevant,
  ...(answers.length > 0 && { answers }),
});

/**
 * The questions of examples whose passages are changed. Each passage serves one example only.
 * Passages that serve none stay unchanged.
 *
 * @param passages is changed
 * @param taken passages that have to stay as they are
 */
function changedQuestions(
  examples: readonly Example[],
  passages: Map<string, Passage>,
  taken: Set<string>,
): MonitorQuestion[] {
  return examples.flatMap((example) => {
    const { relevant, removal = {} } = example;
    const ids = [...new Set([...relevant, ...(removal.cut ? [removal.cut.passageId] : [])])];
    const changed = ids.flatMap((id) => {
      const passage = passages.get(id);
      return passage ? [{ id, read: readAs(removal, passage), passage }] : [];
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
    return [questionOf({ ...example, relevant: left })];
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
 * The questions with their relevant passages: those that are known, or else those of BM25's first
 * 20 that contain an answer. Questions without a relevant passage are left out.
 */
async function withRelevant(
  corpus: Corpus,
  examples: readonly Example[],
): Promise<MonitorQuestion[]> {
  const others = examples.filter(({ relevant }) => relevant.length === 0);
  if (others.length === 0) return examples.map(questionOf);
  const bm25 = await corpus.bm25();
  const retrieved = new Map(
    others.map((example) => [
      example,
      bm25.search(example.question, ANSWER_DEPTH).map(({ id }) => id),
    ]),
  );
  const passages = await corpus.pick([...retrieved.values()].flat());
  const questions = examples.map((example) => {
    const { question, answers } = example;
    const containing = retrieved
      .get(example)
      ?.filter((id) => containsAnswer(passages.get(id)!.text, answers));
    if (!containing) return questionOf(example);
    return { question, relevant: containing, answers };
  });
  return questions.filter(({ relevant }) => relevant.length > 0);
}
