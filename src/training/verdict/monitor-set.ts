/** The retrieval test of a run, made of held-out examples. */

import { containsAnswer } from "../../evaluation/answers.ts";
import { createRandom } from "../../math/random.ts";
import type { Passage } from "../../text/passage.ts";
import type { Corpus } from "../examples/corpus.ts";
import { type Example, readAs, sourcesOf } from "../examples/example.ts";
import type { MonitorQuestion, MonitorSet } from "../examples/training-data.ts";

/** BM25's passages in which an answer is searched, for a question without a relevant passage. */
const ANSWER_DEPTH = 20;

/** Random passages beside the relevant ones that a measurement searches. */
export const MONITOR_PASSAGES = 400;

interface Limits {
  /** Steps between two measurements. */
  readonly every: number;
  /** The most passages to search. Default: those of all examples and 400 others. */
  readonly passages?: number | undefined;
}

/**
 * Makes the monitor set. An example made of documents sees its passages as it reads them: with the
 * sentence, they would be easy to find. If that leaves no question, they take part unchanged: then
 * the monitor can at least detect a collapse.
 */
export async function createMonitorSet(
  { seed, measurements }: { readonly seed: number; readonly measurements: Limits },
  corpus: Corpus,
  all: readonly Example[],
): Promise<MonitorSet> {
  const { passages: most = Infinity, every } = measurements;
  const heldOut = aboutFew(all, most / 2, seed);
  const known = await withRelevant(
    corpus,
    heldOut.filter(({ removal }) => !removal),
  );
  const made = heldOut.filter(({ removal }) => removal);
  const relevant = [...known, ...made].flatMap((example) => example.relevant);
  const passages = await corpus.pick(withRandom(relevant, most, corpus, seed));
  const taken = new Set(known.flatMap((question) => question.relevant));
  const changed = changedQuestions(made, passages, taken);
  const others = changed.length + known.length > 0 ? changed : made.map(questionOf);
  return {
    questions: [...known, ...others],
    passages: [...passages.values()],
    every,
  };
}

const questionOf = (example: Example): MonitorQuestion => ({
  question: example.question,
  relevant: example.relevant,
  ...(example.answers.length > 0 && { answers: example.answers }),
  about: sourcesOf(example),
});

/**
 * The questions of examples whose passages are changed. The first example of a passage changes it
 * in its place, for all questions; the others get versions of it. So a question sees each passage
 * once at most, and its own as it reads them.
 *
 * @param passages is changed
 * @param taken passages that have to stay as they are
 */
function changedQuestions(
  examples: readonly Example[],
  passages: Map<string, Passage>,
  taken: Set<string>,
): MonitorQuestion[] {
  const originals = new Map(passages);
  return examples.flatMap((example) => {
    const { relevant, removal = {} } = example;
    const ids = new Set([...relevant, ...(removal.cut ? [removal.cut.passageId] : [])]);
    const reads = new Map<string, Passage | undefined>();
    for (const id of ids) if (originals.has(id)) reads.set(id, readAs(removal, originals.get(id)!));
    if (!relevant.some((id) => reads.get(id))) return [];
    const instead = new Map<string, string | null>();
    for (const [id, read] of reads) {
      if (!read) instead.set(id, null);
      else if (!taken.has(id)) passages.set(id, read);
      else if (read !== passages.get(id)) instead.set(id, addVersion(passages, read));
      if (read) taken.add(id);
    }
    const seen = relevant.flatMap((id) => (reads.get(id) ? [instead.get(id) ?? id] : []));
    const changes = instead.size > 0 && { instead: [...instead] };
    return [{ ...questionOf(example), relevant: seen, ...changes }];
  });
}

/** @returns the id of the version */
function addVersion(passages: Map<string, Passage>, read: Passage): string {
  let version = 2;
  while (passages.has(`${read.id} (${version})`)) version++;
  const id = `${read.id} (${version})`;
  passages.set(id, { ...read, id });
  return id;
}

/** Random examples, in their order, as long as they are about `most` passages at most. */
function aboutFew(examples: readonly Example[], most: number, seed: number): readonly Example[] {
  const about = new Set<string>();
  const chosen = new Set<Example>();
  for (const example of createRandom(seed, "measured").shuffle([...examples])) {
    const others = example.relevant.filter((id) => !about.has(id));
    if (about.size + others.length > most) continue;
    for (const id of others) about.add(id);
    chosen.add(example);
  }
  return examples.filter((example) => chosen.has(example));
}

/** The ids and 400 random others, `most` in all; or the whole corpus. */
function withRandom(
  ids: readonly string[],
  most: number,
  corpus: Corpus,
  seed: number,
): Set<string> {
  const random = createRandom(seed, "probe");
  const drawn = new Set(ids);
  const wanted = Math.max(drawn.size, Math.min(most, drawn.size + MONITOR_PASSAGES));
  const count = Math.min(corpus.size, wanted);
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
    return containing ? { question, relevant: containing, answers } : questionOf(example);
  });
  return questions.filter(({ relevant }) => relevant.length > 0);
}
