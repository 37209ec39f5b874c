/** How a model does on dev questions: retrieval and answers. */

import { containsAnswer, exactMatch, f1 } from "../../evaluation/answers.ts";
import type { Measures } from "../../evaluation/measures.ts";
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
  /** What the model said to each question. */
  readonly replies: readonly SampleReply[];
}

/**
 * Retrieves 20 passages for every question and answers it from the first 10.
 *
 * A passage counts as found if it is the question's `passageId` or, where the question has none, if it contains an answer.
 */
export async function evaluateOnDev(
  model: ReAtt,
  index: TokenIndex,
  questions: readonly TrainingQuestion[],
  options: {
    signal?: AbortSignal | undefined;
    onProgress?: ((questions: number) => void) | undefined;
  },
): Promise<DevResult> {
  const texts = questions.map(({ question }) => question);
  const found = await model.retrieve(texts, index, {
    topK: Math.max(...CUTOFFS),
    signal: options.signal,
  });
  const replies: SampleReply[] = [];
  for await (const reply of model.answer(texts, index, {
    topK: PASSAGES_READ,
    signal: options.signal,
  })) {
    replies.push(reply);
    options.onProgress?.(replies.length);
  }
  const recall = recallOf(questions, found);
  const answers = questions.map((question, i) => [replies[i]!.answer, question.answers] as const);
  const measures = {
    ...recall,
    exactMatch: average(answers.map(([answer, gold]) => Number(exactMatch(answer, gold)))),
    f1: average(answers.map(([answer, gold]) => f1(answer, gold))),
  };
  return { measures, replies };
}

/** `recall@k`: the share of questions for which one of the first k passages is right. */
export function recallOf(
  questions: readonly TrainingQuestion[],
  found: readonly (readonly Passage[])[],
): Record<string, number> {
  const first = questions.map(({ passageId, answers }, i) =>
    found[i]!.findIndex(({ id, text }) =>
      passageId === undefined ? containsAnswer(text, answers) : id === passageId,
    ),
  );
  const atMost = (k: number): number => average(first.map((rank) => Number(rank >= 0 && rank < k)));
  return Object.fromEntries(CUTOFFS.map((k) => [`recall@${k}`, atMost(k)]));
}

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
