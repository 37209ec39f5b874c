/**
 * Measures a model on SQuAD, as in the table of models/reatt-mini/README.md: R@1, 5, 20 of the gold
 * paragraph, then exact match and F1 reading the gold paragraph and 1, 3 and 5 retrieved ones.
 * Prints a JSON object.
 *
 *     npx tsx recipes/reatt-mini/measure.ts --model DIR --replies FILE.jsonl [--corpus FILE]
 *         [--questions FILE] [--every N] [--lambda X] [--k1 X] [--b X]
 *
 * `--replies` keeps the answers, one line per question. If it is stopped, run the same command
 * again. `--every N` reads every Nth question only. `--lambda X` ranks by hybrid search; 0 is
 * BM25 alone.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startProgress } from "../../src/cli/output/progress.ts";
import { exactMatch, f1 } from "../../src/evaluation/answers.ts";
import { openAppendFile } from "../../src/io/append-file.ts";
import { mean } from "../../src/math/mean.ts";
import { hitLists } from "../../src/reatt/retrieving.ts";
import { type Hit, ReAtt, type ReadPassage, type Reply } from "../../src/reatt.ts";
import type { HybridOptions } from "../../src/retrieval/hybrid.ts";
import { openLexicalIndex } from "../../src/retrieval/lexical-index.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import {
  readTrainingFile,
  type TrainingQuestion,
} from "../../src/training/examples/training-questions.ts";
import { reciprocalRank } from "../../src/training/verdict/measured-set.ts";
import { measuresOf } from "../../src/training/verdict/measurements.ts";
import { keptLines } from "./kept-lines.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    corpus: { type: "string", default: "../shared/data/squad/corpus.jsonl" },
    questions: { type: "string", default: "../shared/data/squad/dev.jsonl" },
    every: { type: "string", default: "1" },
    replies: { type: "string", default: "runs/replies.jsonl" },
    lambda: { type: "string" },
    k1: { type: "string", default: "0.9" },
    b: { type: "string", default: "0.4" },
  },
});

/** What is read: the gold paragraph, or this many retrieved ones. */
const READINGS = ["gold", 1, 3, 5] as const;
/** Retrieved for each question. */
const FOUND = 20;

/** A question with its answers: a line of `--replies`. */
export interface Answered {
  readonly question: string;
  readonly answers: readonly string[];
  readonly passageId: string;
  /** Model and ranking. Replies of another model or ranking are not continued. */
  readonly of: { readonly model: string; readonly found: readonly string[] };
  /** Answers by what was read. */
  readonly answer: Readonly<Record<(typeof READINGS)[number], string>>;
  /** Of the answer from three passages that were found, as `answer` reads. */
  readonly confidence: number;
  readonly passages: readonly ReadPassage<Hit>[];
}

const percent = (share: number): number => Number((100 * share).toFixed(1));

function quality(lines: readonly Answered[], reading: (typeof READINGS)[number]): object {
  const of = (measure: (answer: string, gold: readonly string[]) => number): number =>
    percent(mean(lines.map(({ answer, answers }) => measure(answer[reading], answers))));
  return { EM: of((answer, gold) => Number(exactMatch(answer, gold))), F1: of(f1) };
}

async function interpolation(index: TokenIndex): Promise<HybridOptions | false> {
  const { lambda, k1, b } = values;
  if (lambda === undefined) return false;
  return {
    lexical: await openLexicalIndex(index, { k1: Number(k1), b: Number(b) }),
    lambda: Number(lambda),
  };
}

async function answerFrom(
  model: ReAtt,
  index: TokenIndex,
  { question, answers, passageId }: TrainingQuestion,
  hits: readonly Hit[],
  hybrid: HybridOptions | false,
): Promise<Answered> {
  const found = hits.map(({ id }) => id);
  const replies = new Map<(typeof READINGS)[number], Reply<Hit>>();
  for (const reading of READINGS) {
    const read =
      reading === "gold" ? { filter: new Set([passageId!]) } : { readTopK: reading, topK: reading };
    replies.set(
      reading,
      await model.answer(question, index, { minimumConfidence: 0, ...read, hybrid }),
    );
  }
  const answer = Object.fromEntries(
    READINGS.map((reading) => [reading, replies.get(reading)!.answer]),
  );
  const { confidence, passages } = replies.get(3)!;
  const of = { model: values.model, found };
  return {
    ...{ question, answers, passageId: passageId!, of },
    ...{ answer: answer as Answered["answer"], confidence, passages },
  };
}

/** Answers the questions that the file of replies does not have yet. */
async function answerAll(
  model: ReAtt,
  index: TokenIndex,
  questions: readonly TrainingQuestion[],
  found: readonly (readonly Hit[])[],
  hybrid: HybridOptions | false,
): Promise<Answered[]> {
  const lines = await keptLines<Answered>(values.replies);
  const isOther = ({ question, of }: Answered, i: number): boolean =>
    question !== questions[i]?.question ||
    of.model !== values.model ||
    of.found.join() !== found[i]!.map(({ id }) => id).join();
  if (lines.some(isOther))
    throw new Error(`${values.replies} is of another model or ranking; give another file`);
  const progress = startProgress("questions", questions.length);
  progress.resume(lines.length);
  await using file = await openAppendFile(values.replies);
  for (let i = lines.length; i < questions.length; i++) {
    const line = await answerFrom(model, index, questions[i]!, found[i]!, hybrid);
    await file.append(`${JSON.stringify(line)}\n`);
    progress.update(lines.push(line));
  }
  progress.stop();
  return lines;
}

async function measure(directory: string): Promise<void> {
  await using model = await ReAtt.load(values.model);
  await using index = await model.index(readPassages(values.corpus), {
    directory,
    bits: 32,
  });
  const questions = await readTrainingFile(values.questions);
  const hybrid = await interpolation(index);
  const found = await hitLists(
    model.retrieve(
      questions.map(({ question }) => question),
      index,
      {
        topK: FOUND,
        hybrid,
      },
    ),
  );
  const recall = measuresOf({
    reciprocalRanks: found.map((hits, i) =>
      reciprocalRank(hits, ({ id }) => id === questions[i]!.passageId),
    ),
  });
  const isRead = (_: unknown, i: number): boolean => i % Number(values.every) === 0;
  const read = questions.filter(isRead);
  const lines = await answerAll(model, index, read, found.filter(isRead), hybrid);
  const result = {
    model: values.model,
    questions: questions.length,
    ...Object.fromEntries([1, 5, 20].map((k) => [`R@${k}`, percent(recall[`recall@${k}`]!)])),
    read: lines.length,
    reading: Object.fromEntries(READINGS.map((reading) => [reading, quality(lines, reading)])),
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

const directory = await mkdtemp(join(tmpdir(), "reatt-mini-"));
try {
  await measure(directory);
} finally {
  await rm(directory, { recursive: true });
}
