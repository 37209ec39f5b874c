/**
 * Measures a model on SQuAD as the table in models/reatt-mini/README.md has it: R@1, 5, 20 of the gold paragraph, then exact match and F1
 * reading the gold paragraph and 5, 10 and 20 that were retrieved. Prints a JSON object.
 *
 *     npx tsx scripts/measure-mini.ts --model DIR [--corpus FILE] [--questions FILE] [--every N] [--replies FILE.jsonl]
 *                                     [--lambda X] [--k1 X] [--b X]
 *
 * `--every N` reads every Nth question alone. `--replies` keeps what was answered from 10 passages. `--lambda X` ranks by BM25 + X times the model's
 * score: 0 is BM25 alone.
 */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { exactMatch, f1 } from "../src/evaluation/answers.ts";
import { ReAtt, type Reply } from "../src/reatt.ts";
import type { Interpolation } from "../src/retrieval/interpolation.ts";
import { openLexicalIndex } from "../src/retrieval/lexical.ts";
import type { TokenIndex } from "../src/retrieval/token-index.ts";
import { readPassages } from "../src/text/corpus.ts";
import { recallOf } from "../src/training/run/evaluate.ts";
import { readTrainingFile, type TrainingQuestion } from "../src/training/tasks/data.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    corpus: { type: "string", default: "../shared/data/squad/corpus.jsonl" },
    questions: { type: "string", default: "../shared/data/squad/dev.jsonl" },
    every: { type: "string", default: "1" },
    replies: { type: "string" },
    lambda: { type: "string" },
    k1: { type: "string", default: "0.9" },
    b: { type: "string", default: "0.4" },
  },
});

const percent = (share: number): number => Number((100 * share).toFixed(1));
const mean = (numbers: readonly number[]): number => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;

function quality(questions: readonly TrainingQuestion[], replies: readonly Reply[]): object {
  const of = (measure: (answer: string, gold: readonly string[]) => number): number =>
    percent(mean(replies.map(({ answer }, i) => measure(answer, questions[i]!.answers))));
  return { EM: of((answer, gold) => Number(exactMatch(answer, gold))), F1: of(f1) };
}

/** `index` in which nothing is found but these passages. */
const only = (index: TokenIndex, ids: readonly string[]): TokenIndex => ({
  ...index,
  searchBatch: (questions, options) => index.searchBatch(questions, { ...options, filter: new Set(ids) }),
});

async function interpolation(index: TokenIndex): Promise<Interpolation | undefined> {
  const { lambda, k1, b } = values;
  if (lambda === undefined) return undefined;
  return { lexical: await openLexicalIndex(index, { k1: Number(k1), b: Number(b) }), lambda: Number(lambda) };
}

async function measure(directory: string): Promise<void> {
  await using model = await ReAtt.load(values.model);
  await using index = await model.index(readPassages(values.corpus), { directory });
  const questions = await readTrainingFile(values.questions);
  const found = await model.retrieve(
    questions.map(({ question }) => question),
    index,
    { topK: 20, interpolation: await interpolation(index) },
  );
  const isRead = (_: unknown, i: number): boolean => i % Number(values.every) === 0;
  const read = questions.filter(isRead);
  const answer = async (passages: readonly (readonly string[])[]): Promise<Reply[]> => {
    const replies: Reply[] = [];
    for (const [i, { question }] of read.entries())
      replies.push(await model.answer(question, only(index, passages[i]!), { topK: passages[i]!.length }));
    return replies;
  };
  const gold = await answer(read.map(({ passageId }) => [passageId!]));
  const reading: Record<string, object> = { gold: quality(read, gold) };
  for (const topK of [5, 10, 20]) {
    const replies = await answer(found.filter(isRead).map((hits) => hits.slice(0, topK).map(({ id }) => id)));
    reading[topK] = quality(read, replies);
    if (topK === 10 && values.replies !== undefined) await writeReplies(values.replies, read, replies);
  }
  const recall = recallOf(questions, found);
  const result = {
    model: values.model,
    questions: questions.length,
    ...Object.fromEntries([1, 5, 20].map((k) => [`R@${k}`, percent(recall[`recall@${k}`]!)])),
    read: read.length,
    reading,
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

async function writeReplies(
  path: string,
  questions: readonly TrainingQuestion[],
  replies: readonly Reply[],
): Promise<void> {
  const lines = replies.map(({ answer, confidence, passages }, i) => {
    const { question, answers, passageId } = questions[i]!;
    return JSON.stringify({ question, answers, passageId, answer, confidence, passages });
  });
  await writeFile(path, `${lines.join("\n")}\n`);
}

const directory = await mkdtemp(join(tmpdir(), "reatt-mini-"));
try {
  await measure(directory);
} finally {
  await rm(directory, { recursive: true });
}
