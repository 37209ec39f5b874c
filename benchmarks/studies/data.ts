/** The files that studies train and measure on. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createRandom } from "../../src/math/random.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import {
  readTrainingFile,
  type TrainingQuestion,
} from "../../src/training/examples/training-questions.ts";

export interface QuestionSet {
  readonly passages: readonly Passage[];
  readonly questions: readonly TrainingQuestion[];
}

/** The passages and questions of a folder of `shared/data/qa`. */
export async function readSet(folder: string): Promise<QuestionSet> {
  const passages: Passage[] = [];
  for await (const passage of readPassages(join(folder, "corpus.jsonl.gz"))) passages.push(passage);
  return { passages, questions: await readTrainingFile(join(folder, "questions.jsonl.gz")) };
}

/** `count` of the items in random order. The order depends on the seed alone. */
export function sample<T>(items: readonly T[], count: number, seed: string): T[] {
  const random = createRandom(seed);
  const order = items.map((item) => ({ item, key: random.integer(2 ** 31) }));
  return order
    .sort((a, b) => a.key - b.key)
    .slice(0, count)
    .map(({ item }) => item);
}

/** The questions about some of the passages. */
export function about({ passages, questions }: QuestionSet, ids: ReadonlySet<string>): QuestionSet {
  return {
    passages: passages.filter(({ id }) => ids.has(id)),
    questions: questions.filter(({ passageId }) => ids.has(passageId!)),
  };
}

/** Writes `corpus.jsonl` and `NAME.jsonl`, which `reatt train` and `openBeir` read. */
export async function writeSet(folder: string, name: string, set: QuestionSet): Promise<void> {
  await mkdir(folder, { recursive: true });
  const lines = (records: readonly object[]) =>
    records.map((record) => `${JSON.stringify(record)}\n`).join("");
  const corpus = set.passages.map(({ id, title, text }) => ({ _id: id, title, text }));
  await writeFile(join(folder, "corpus.jsonl"), lines(corpus));
  await writeFile(join(folder, `${name}.jsonl`), lines(set.questions.map(recordOf)));
}

const recordOf = ({ id, question, answers, passageId, contexts }: TrainingQuestion): object => ({
  ...{ id, question, answers, passage_id: passageId },
  ...(contexts ? { ctxs: contexts.map((id) => ({ id })) } : {}),
});
