/** Measures a model on dev questions: retrieval and answers. */

import { containsAnswer, exactMatch, f1 } from "../../evaluation/answers.ts";
import type { Measures } from "../../evaluation/measures.ts";
import { mean } from "../../math/mean.ts";
import type { ReAtt } from "../../reatt.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import type { Passage } from "../../text/passage.ts";
import type { TrainingQuestion } from "../data/training-questions.ts";
import type { SampleReply } from "../report/report.ts";

export const CUTOFFS: readonly number[] = [1, 5, 20];
const PASSAGES_READ = 10;

export interface DevResult {
  /** `recall@1`, `recall@5`, `recall@20`, `exactMatch`, `f1`; from 0 to 1. */
  readonly measures: Measures;
  /** The model's answer to each question. */
  readonly replies: readonly SampleReply[];
}

interface EvaluationOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((questions: number) => void) | undefined;
}

/**
 * Retrieves 20 passages for every question, and answers it from the first 10. The model ranks
 * alone, whatever weights of hybrid search its configuration has.
 */
export async function evaluateOnDev(
  model: ReAtt,
  index: TokenIndex,
  questions: readonly TrainingQuestion[],
  { signal, onProgress }: EvaluationOptions,
): Promise<DevResult> {
  const texts = questions.map(({ question }) => question);
  const retrieved = await model.retrieve(texts, index, { topK: Math.max(...CUTOFFS), signal });
  const replies: SampleReply[] = [];
  const reading = { topK: PASSAGES_READ, hybrid: false, signal };
  for await (const reply of model.answer(texts, index, reading)) {
    replies.push(reply);
    onProgress?.(replies.length);
  }
  const measures = {
    ...recallOf(questions, retrieved),
    exactMatch: mean(
      questions.map(({ answers }, i) => Number(exactMatch(replies[i]!.answer, answers))),
    ),
    f1: mean(questions.map(({ answers }, i) => f1(replies[i]!.answer, answers))),
  };
  return { measures, replies };
}

/**
 * `recall@k`: the share of questions with a relevant passage among the first k. A passage is
 * relevant if it is the question's `passageId` or, for a question without one, if its text contains
 * an answer.
 */
export function recallOf(
  questions: readonly TrainingQuestion[],
  retrieved: readonly (readonly Passage[])[],
): Record<string, number> {
  const ranks = questions.map(({ passageId, answers }, i) =>
    retrieved[i]!.findIndex(({ id, text }) =>
      passageId === undefined ? containsAnswer(text, answers) : id === passageId,
    ),
  );
  const recallAt = (k: number): number => mean(ranks.map((rank) => Number(rank >= 0 && rank < k)));
  return Object.fromEntries(CUTOFFS.map((k) => [`recall@${k}`, recallAt(k)]));
}
