/**
 * Asks the questions of collections with and without an answer in the index, and keeps what the
 * model says of its answers.
 *
 * A collection NAME is `NAME-corpus.jsonl` and `NAME.jsonl` in a folder. Its questions are asked in
 * an index of its passages:
 *
 * - every question as it is
 * - every second one without the passages that have its title, if there are several: other subjects
 * - the others without the passages that contain an accepted answer: near passages without one
 */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startProgress } from "../../src/cli/output/progress.ts";
import { containsAnswer, exactMatch } from "../../src/evaluation/answers.ts";
import { openAppendFile } from "../../src/io/append-file.ts";
import type { AnswerSignals } from "../../src/model/answer-calibration.ts";
import { type Hit, ReAtt, type Reply } from "../../src/reatt.ts";
import { combineScores, hybridScores, MIN_CANDIDATES } from "../../src/retrieval/hybrid.ts";
import { type LexicalIndex, openLexicalIndex } from "../../src/retrieval/lexical-index.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import {
  readTrainingFile,
  type TrainingQuestion,
} from "../../src/training/examples/training-questions.ts";
import { keptLines } from "./kept-lines.ts";

export interface Questions {
  readonly model: string;
  /** The folder of the collections. */
  readonly heldOut: string;
  readonly sets: readonly string[];
  /** Every Nth question. */
  readonly every: number;
  /** Keeps the indexes and what was asked of one model: the same call continues, or only reads. */
  readonly work: string;
}

/** Hits of a question: as many as a person sees. */
const HITS = 10;

export type Condition = "answerable" | "other subject" | "near passages";

export interface Asked {
  readonly set: string;
  readonly group: string;
  readonly condition: Condition;
  readonly signals: AnswerSignals;
  readonly confidence: number;
  readonly correct: boolean;
  readonly hits: readonly {
    readonly relevant: boolean;
    readonly lexical: number;
    readonly dense: number;
  }[];
}

/** A collection: its passages, and the cases to ask. */
async function readSet(set: string, { heldOut, every }: Questions) {
  const passages: Passage[] = [];
  for await (const passage of readPassages(join(heldOut, `${set}-corpus.jsonl`)))
    passages.push(passage);
  const questions = await readTrainingFile(join(heldOut, `${set}.jsonl`));
  const hasSubjects = new Set(passages.map(({ title }) => title)).size > 1;
  const cases = questions
    .filter((_, i) => i % every === 0)
    .flatMap((question, i): Case[] => [
      { set, question, condition: "answerable" },
      {
        ...{ set, question },
        condition: hasSubjects && i % 2 === 0 ? "other subject" : "near passages",
      },
    ]);
  return { passages, cases };
}

/** Which passages a case is asked over. */
function acceptedBy({ condition, question }: Case, passages: readonly Passage[]) {
  if (condition === "answerable") return () => true;
  const { passageId, answers = [] } = question;
  const subject = passages.find(({ id }) => id === passageId)!.title;
  const allowed = passages.map(({ id, title, text }) =>
    condition === "other subject"
      ? title !== subject
      : id !== passageId && !containsAnswer(text, answers),
  );
  return (ordinal: number) => allowed[ordinal]!;
}

interface Case {
  readonly set: string;
  readonly question: TrainingQuestion;
  readonly condition: Condition;
}

export interface Searched {
  readonly model: ReAtt;
  readonly index: TokenIndex;
  readonly lexical: LexicalIndex;
}

/** What a question is asked over, and what is right. */
interface Judging {
  readonly accept?: (ordinal: number) => boolean;
  isRight(reply: Reply<Hit>): boolean;
  isRelevant(passageId: string): boolean;
}

/** Asks a question, and finds what a person sees of its hits. */
export async function askOne(
  { model, index, lexical }: Searched,
  text: string,
  { accept = () => true, isRight, isRelevant }: Judging,
): Promise<Pick<Asked, "signals" | "confidence" | "correct" | "hits">> {
  const weights = { ...model.config.hybrid!, lexical };
  const { bm25 } = lexical;
  const options = { filter: accept, minimumConfidence: 0, hybrid: weights };
  const reply = await model.answer(text, index, options);
  const [vectors] = await model.encodeQuestions([text]);
  const [dense] = await index.rankings([vectors!], { topK: MIN_CANDIDATES, accept });
  const lists = { lexical: bm25.rank(text, MIN_CANDIDATES, { accept }), dense: dense! };
  const union = await hybridScores(index, bm25, { text, vectors: vectors! }, lists);
  const best = combineScores(union, weights.lambda, HITS);
  const hits = Array.from(best.ordinals, (ordinal) => {
    const at = union.ordinals.indexOf(ordinal);
    const relevant = isRelevant(bm25.ids[ordinal]!);
    return { relevant, lexical: union.lexical[at]!, dense: union.dense[at]! };
  });
  const { signals, confidence } = reply;
  return { signals: signals!, confidence, correct: isRight(reply), hits };
}

async function ask(
  searched: Searched,
  { set, question: { question: text, answers = [], passageId }, condition }: Case,
  accept: (ordinal: number) => boolean,
): Promise<Asked> {
  const one = await askOne(searched, text, {
    accept,
    isRight: ({ answer }) => condition === "answerable" && exactMatch(answer, answers),
    isRelevant: (id) => id === passageId,
  });
  return { set, group: passageId!, condition, ...one };
}

/** What was asked, also by a run that was stopped. The model is loaded if something is left. */
export async function asked(questions: Questions): Promise<readonly Asked[]> {
  const { work, sets } = questions;
  const of = createHash("sha256").update(JSON.stringify(questions)).digest("hex").slice(0, 16);
  const record = join(work, `asked-${of}.jsonl`); // never continues what was asked of others
  await mkdir(work, { recursive: true });
  const all = await keptLines<Asked>(record);
  await using file = await openAppendFile(record);
  let left = all.length; // of what is known, for the sets that follow
  for (const set of sets) {
    const { passages, cases } = await readSet(set, questions);
    const known = Math.min(left, cases.length);
    left -= known;
    if (known === cases.length) continue;
    await using searched = await openSearched(passages, set, questions);
    const progress = startProgress(`questions of ${set}`, cases.length);
    progress.resume(known);
    for (const [i, one] of cases.slice(known).entries()) {
      const reply = await ask(searched, one, acceptedBy(one, passages));
      await file.append(`${JSON.stringify(reply)}\n`);
      all.push(reply);
      progress.update(known + i + 1);
    }
    progress.stop();
  }
  return all;
}

export async function openSearched(
  passages: readonly Passage[],
  set: string,
  { model: folder, work }: Pick<Questions, "model" | "work">,
): Promise<Searched & AsyncDisposable> {
  const model = await ReAtt.load(folder);
  const directory = join(work, `index-${set}`);
  const index = await (existsSync(directory)
    ? model.openIndex(directory)
    : model.index(passages, { directory, bits: 32 }));
  const { k1, b } = model.config.hybrid!;
  const lexical = await openLexicalIndex(index, { k1, b });
  const close = async (): Promise<void> => {
    await index[Symbol.asyncDispose]();
    await model.close();
  };
  return { model, index, lexical, [Symbol.asyncDispose]: close };
}
