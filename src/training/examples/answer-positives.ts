/**
 * Positives of questions without a label: the best passage of BM25 that contains an answer.
 *
 * Source: DPR (Karpukhin et al. 2020), section 4.2.
 */

import { setImmediate } from "node:timers/promises";
import { answerTokens, containsTokens } from "../../evaluation/answers.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import type { Corpus } from "./corpus.ts";
import type { Example } from "./example.ts";

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
 * The examples, each question with its best passage as relevant. Those that know one, or have
 * scores of their contexts, stay as they are; so do those whose answer is in no passage of BM25.
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
  const answers = examples.map((example) => example.answers.map(answerTokens));
  const best = new Map<number, { readonly id: string; readonly rank: number }>(); // by question
  for await (const { id, text } of corpus.passages((candidate) => found.has(candidate))) {
    signal?.throwIfAborted();
    const tokens = answerTokens(text);
    for (const { question, rank } of found.get(id)!)
      if (rank < (best.get(question)?.rank ?? DEPTH))
        if (answers[question]!.some((answer) => containsTokens(tokens, answer)))
          best.set(question, { id, rank });
  }
  return examples.map((example, i) => {
    const relevant = best.get(i)?.id;
    return relevant === undefined ? example : { ...example, relevant: [relevant] };
  });
}
