/** The retrieval test of a run, made of held-out examples. */

import { containsAnswer } from "../../evaluation/answers.ts";
import { createRandom } from "../../math/random.ts";
import type { Passage } from "../../text/passage.ts";
import type { Corpus } from "../examples/corpus.ts";
import { type Example, readAs, sourcesOf } from "../examples/example.ts";
import type { MonitorQuestion, MonitorSet } from "../examples/training-data.ts";

/**
 * BM25's passages of a question of people: the others that are searched, and where an answer is
 * looked for if no relevant passage is known.
 */
const NEAR = 20;

/** Passages beside the relevant ones that a measurement searches. */
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
 * the monitor can at least detect a collapse. Questions of people are searched among the passages
 * near them: random ones hide what training changes, as nearly all are found first among these.
 */
export async function createMonitorSet(
  { seed, measurements }: { readonly seed: number; readonly measurements: Limits },
  corpus: Corpus,
  all: readonly Example[],
): Promise<MonitorSet> {
  const { passages: most = Infinity, every } = measurements;
  const heldOut = aboutFew(all, most / 2, seed);
  const asked = heldOut.filter(({ removal }) => !removal);
  const near = await nearPassages(corpus, asked);
  const known = await withRelevant(corpus, asked, near);
  const made = heldOut.filter(({ removal }) => removal);
  const relevant = [...known, ...made].flatMap((example) => example.relevant);
  const passages = await corpus.pick(withOthers(relevant, near, most, corpus, seed));
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

/** BM25's first passages of each question, best first. */
async function nearPassages(corpus: Corpus, asked: readonly Example[]): Promise<string[][]> {
  if (asked.length === 0) return [];
  const bm25 = await corpus.bm25();
  return asked.map(({ question }) => bm25.search(question, NEAR).map(({ id }) => id));
}

/**
 * The ids and 400 others, `most` in all; or the whole corpus. The others are those near the
 * questions, the first of each before the second of any, and then random ones.
 */
function withOthers(
  ids: readonly string[],
  near: readonly (readonly string[])[],
  most: number,
  corpus: Corpus,
  seed: number,
): Set<string> {
  const random = createRandom(seed, "probe");
  const drawn = new Set(ids);
  const wanted = Math.max(drawn.size, Math.min(most, drawn.size + MONITOR_PASSAGES));
  const count = Math.min(corpus.size, wanted);
  const places = Array.from({ length: NEAR }, (_, place) =>
    near.flatMap((found) => found[place] ?? []),
  );
  for (const id of places.flat()) if (drawn.size < count) drawn.add(id);
  while (drawn.size < count) drawn.add(corpus.ids[random.integer(corpus.size)]!);
  return drawn;
}

/**
 * The questions with their relevant passages: those that are known, or else those near it that
 * contain an answer. Questions without a relevant passage are left out.
 *
 * @param near of each question
 */
async function withRelevant(
  corpus: Corpus,
  asked: readonly Example[],
  near: readonly (readonly string[])[],
): Promise<MonitorQuestion[]> {
  const isUnknown = asked.map(({ relevant }) => relevant.length === 0);
  const passages = await corpus.pick(near.filter((_, i) => isUnknown[i]).flat());
  const questions = asked.map((example, i) => {
    if (!isUnknown[i]) return questionOf(example);
    const { question, answers } = example;
    const relevant = near[i]!.filter((id) => containsAnswer(passages.get(id)!.text, answers));
    return { question, relevant, answers };
  });
  return questions.filter(({ relevant }) => relevant.length > 0);
}
