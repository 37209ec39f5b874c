/** The collections that models are adapted to, and the test queries that measure them. */

import { join } from "node:path";
import { openBeir } from "../../src/evaluation/beir.ts";
import type { Qrels } from "../../src/evaluation/ranking.ts";
import { readTrainingFile } from "../../src/training/examples/training-questions.ts";

export interface Collection {
  /** Path of the passages: all that an adaptation sees. */
  readonly corpus: string;
  /** Query id -> text. */
  readonly queries: ReadonlyMap<string, string>;
  readonly qrels: Qrels;
  /** Accepted answers of queries that have some. */
  readonly answers: ReadonlyMap<string, readonly string[]>;
}

/** In the order in which they are run. */
export const COLLECTIONS: Readonly<Record<string, (data: string) => Promise<Collection>>> = {
  scifact: (data) => beir(join(data, "scifact")),
  policy: (data) => asked(join(data, "qa/policy"), () => true),
  // Questions about passages with an even number are for training with labels.
  reddit: (data) =>
    asked(join(data, "qa/reddit"), (passage) => Number(passage.split("/")[1]) % 2 === 1, 5),
  cisi: (data) => beir(join(data, "cisi")),
  cacm: (data) => beir(join(data, "cacm")),
};

async function beir(folder: string): Promise<Collection> {
  const { corpus, queries, qrels } = await openBeir(folder);
  return { corpus, queries, qrels: await qrels("test"), answers: new Map() };
}

/**
 * Every `every`-th of the questions about some passages. Equal questions, as about the policies of
 * many companies, are one query, and the passages of all of them are relevant.
 */
async function asked(
  folder: string,
  isTested: (passage: string) => boolean,
  every = 1,
): Promise<Collection> {
  const all = await readTrainingFile(join(folder, "questions.jsonl.gz"));
  const tested = all.filter(({ passageId }) => isTested(passageId!));
  const queries = new Map<string, string>();
  const qrels = new Map<string, Map<string, number>>();
  const answers = new Map<string, string[]>();
  for (const one of tested.filter((_, i) => i % every === 0)) {
    const id = one.question.trim().toLowerCase();
    queries.set(id, queries.get(id) ?? one.question);
    qrels.set(id, (qrels.get(id) ?? new Map()).set(one.passageId!, 1));
    answers.set(id, [...(answers.get(id) ?? []), ...one.answers]);
  }
  return { corpus: join(folder, "corpus.jsonl.gz"), queries, qrels, answers };
}
