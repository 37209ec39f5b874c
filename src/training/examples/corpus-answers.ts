/** Answers in a corpus: how many questions have one, and passages that contain one as positives. */

import { setImmediate } from "node:timers/promises";
import { isExpression } from "../../evaluation/answer-expressions.ts";
import {
  answerTest,
  answerTokens,
  containsTokens,
  searchedText,
} from "../../evaluation/answers.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import type { Corpus } from "./corpus.ts";
import type { Example, Passages } from "./example.ts";

/** Answers are found by their first words: a map of whole answers would miss longer ones. */
const KEY_WORDS = 3;

export interface AnsweredCount {
  /** Questions with an answer in the corpus. */
  readonly answered: number;
  /** Questions that have answers which are texts: expressions are not looked for in a corpus. */
  readonly questions: number;
}

/** Reads the passages until the answers of all questions are found. */
export async function countAnswered(
  corpus: Passages,
  examples: readonly Example[],
): Promise<AnsweredCount> {
  const asked = examples
    .map(({ answers }) => ({ answers: answers.filter((answer) => !isExpression(answer)) }))
    .filter(({ answers }) => answers.length > 0);
  const open = new Map<string, { tokens: readonly string[]; question: number }[]>(); // by key
  for (const [question, { answers }] of asked.entries())
    for (const tokens of answers.map(answerTokens)) {
      const key = tokens.slice(0, KEY_WORDS).join(" ");
      const list = open.get(key) ?? [];
      open.set(key, list);
      list.push({ tokens, question });
    }
  const answered = new Set<number>();
  for await (const { title, text } of corpus.passages()) {
    for (const tokens of [answerTokens(title), answerTokens(text)])
      for (const key of keysOf(tokens)) {
        const list = open.get(key)?.filter(({ question }) => !answered.has(question));
        for (const one of list ?? [])
          if (containsTokens(tokens, one.tokens)) answered.add(one.question);
        if (list) open.set(key, list);
      }
    if (answered.size === asked.length) break;
  }
  return { answered: answered.size, questions: asked.length };
}

/** The first one to three words at each place. */
function keysOf(tokens: readonly string[]): Set<string> {
  const keys = new Set<string>();
  for (let start = 0; start < tokens.length; start++)
    for (let length = 1; length <= KEY_WORDS; length++)
      keys.add(tokens.slice(start, start + length).join(" "));
  return keys;
}

/** Passages of BM25 that are searched for an answer, as in DPR. */
const DEPTH = 100;
/** Questions between two looks at the signal. */
const SEARCH_BATCH = 64;

/** A passage that BM25 found for a question. */
interface Found {
  readonly question: number;
  readonly rank: number;
}

/**
 * Positives of questions without a label (DPR, Karpukhin et al. 2020, section 4.2): the examples,
 * each with the best passage of BM25 that contains an answer as relevant. Those that know one, or
 * have scores of their contexts, stay as they are; so do those whose answer is in no passage of
 * BM25.
 */
export async function* withAnswerPositives(
  examples: readonly Example[],
  corpus: Pick<Corpus, "bm25" | "passages">,
  signal?: AbortSignal,
): AsyncGenerator<ProgressEvent, readonly Example[]> {
  const isUnlabelled = ({ relevant, scores, removal }: Example): boolean =>
    relevant.length === 0 && scores === undefined && removal === undefined;
  if (!examples.some(isUnlabelled)) return examples;
  yield { type: "stage", name: "finding passages that contain an answer" };
  const found = new Map<string, Found[]>(); // by passage
  const bm25 = await corpus.bm25();
  for (const [i, example] of examples.entries()) {
    if (i % SEARCH_BATCH === 0) await setImmediate(); // without this, no signal arrives
    signal?.throwIfAborted();
    if (!isUnlabelled(example)) continue;
    for (const [rank, { id }] of bm25.search(example.question, DEPTH).entries()) {
      const ofPassage = found.get(id) ?? [];
      ofPassage.push({ question: i, rank });
      found.set(id, ofPassage);
    }
  }
  const tests = examples.map((example) => example.answers.map(answerTest));
  const best = new Map<number, { readonly id: string; readonly rank: number }>(); // by question
  for await (const { id, text } of corpus.passages((candidate) => found.has(candidate))) {
    signal?.throwIfAborted();
    const searched = searchedText(text);
    for (const { question, rank } of found.get(id)!)
      if (rank < (best.get(question)?.rank ?? DEPTH))
        if (tests[question]!.some((contains) => contains(searched)))
          best.set(question, { id, rank });
  }
  return examples.map((example, i) => {
    const relevant = best.get(i)?.id;
    return relevant === undefined ? example : { ...example, relevant: [relevant] };
  });
}
