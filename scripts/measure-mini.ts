/**
 * Measures a model on SQuAD as the table in models/reatt-mini/README.md has it: R@1, 5, 20 of the gold paragraph, then exact match and F1
 * reading the gold paragraph and 5, 10 and 20 that were retrieved. Prints a JSON object.
 *
 *     npx tsx scripts/measure-mini.ts --model DIR [--corpus FILE] [--questions FILE] [--every N] [--replies FILE.jsonl]
 *
 * `--every N` reads every Nth question alone. `--replies` keeps what was answered from 10 passages.
 */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { exactMatch, f1 } from "../src/evaluation/answers.ts";
import { ReAtt, type Reply } from "../src/reatt.ts";
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
  },
});

const percent = (share: number): number => Number((100 * share).toFixed(1));
const mean = (numbers: readonly number[]): number => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;

function quality(questions: readonly TrainingQuestion[], replies: readonly Reply[]): object {
  const of = (measure: (answer: string, gold: readonly string[]) => number): number =>
    percent(mean(replies.map(({ answer }, i) => measure(answer, questions[i]!.answers))));
  return { EM: of((answer, gold) => Number(exactMatch(answer, gold))), F1: of(f1) };
}

/** `index` in which nothing is found but one passage. */
const only = (index: TokenIndex, id: string): TokenIndex => ({
  ...index,
  searchBatch: (questions, options) => index.searchBatch(questions, { ...options, filter: new Set([id]) }),
});

async function measure(directory: string): Promise<void> {
  await using model = await ReAtt.load(values.model);
  await using index = await model.index(readPassages(values.corpus), { directory });
  const questions = await readTrainingFile(values.questions);
  const found = await model.retrieve(
    questions.map(({ question }) => question),
    index,
    { topK: 20 },
  );
  const read = questions.filter((_, i) => i % Number(values.every) === 0);
  const texts = read.map(({ question }) => question);
  const gold: Reply[] = [];
  for (const { question, passageId } of read)
    gold.push(await model.answer(question, only(index, passageId!), { topK: 1 }));
  const reading: Record<string, object> = { gold: quality(read, gold) };
  for (const topK of [5, 10, 20]) {
    const replies: Reply[] = [];
    for await (const reply of model.answer(texts, index, { topK })) replies.push(reply);
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
