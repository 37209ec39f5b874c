/** Measures a model on dev questions: retrieval and answers. */

import { containsAnswer, exactMatch, f1 } from "../../evaluation/answers.ts";
import type { Measures } from "../../evaluation/measures.ts";
import { mean } from "../../math/mean.ts";
import type { HybridWeights } from "../../model/config.ts";
import type { ReAtt } from "../../reatt.ts";
import type { Bm25 } from "../../retrieval/bm25/bm25.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import type { Passage } from "../../text/passage.ts";
import type { TrainingQuestion } from "../examples/training-questions.ts";
import type { SampleReply } from "../report/report.ts";
import { type TuningQuestions, tuneHybrid } from "./tune-hybrid.ts";

export const CUTOFFS: readonly number[] = [1, 5, 20];
const PASSAGES_READ = 10;

/** Hybrid search with the weights that fit the model. */
export interface HybridMeasures {
  /** The weights that were measured. */
  readonly weights: HybridWeights;
  /** What they reach. */
  readonly measures: Measures;
}

export interface DevResult {
  /** `recall@1`, `recall@5`, `recall@20`, `exactMatch`, `f1`; from 0 to 1. */
  readonly measures: Measures;
  readonly hybrid: HybridMeasures;
  /** The model's answer to each question. */
  readonly replies: readonly SampleReply[];
}

interface EvaluationOptions {
  /** BM25 over the passages of the index. */
  readonly lexical: Bm25;
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
  { lexical, signal, onProgress }: EvaluationOptions,
): Promise<DevResult> {
  const texts = questions.map(({ question }) => question);
  const retrieved = await model.retrieve(texts, index, { topK: Math.max(...CUTOFFS), signal });
  const replies: SampleReply[] = [];
  const reading = { topK: PASSAGES_READ, hybrid: false, minimumConfidence: 0, signal };
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
  const hybrid = await measureHybrid(model, index, questions, lexical, signal);
  return { measures, hybrid, replies };
}

/** Tunes hybrid search on the questions and measures its recall on them. */
async function measureHybrid(
  model: ReAtt,
  index: TokenIndex,
  questions: readonly TrainingQuestion[],
  lexical: Bm25,
  signal: AbortSignal | undefined,
): Promise<HybridMeasures> {
  const relevantAmong: TuningQuestions["relevantAmong"] = async (place, ordinals) => {
    const question = questions[place]!;
    if (question.passageId !== undefined) return new Set([question.passageId]);
    const texts = await index.passages([...ordinals]);
    return new Set(texts.filter((passage) => isRelevant(question, passage)).map(({ id }) => id));
  };
  const texts = questions.map(({ question }) => question);
  const tuning = { texts, relevantAmong };
  const { weights, rankings } = await tuneHybrid(model, index, lexical, tuning, signal);
  const found: Passage[][] = [];
  for (const ranking of rankings) {
    const best = ranking.slice(0, Math.max(...CUTOFFS));
    const ordinals = await Promise.all(best.map((id) => index.find(id)));
    found.push(await index.passages(ordinals.map((ordinal) => ordinal!)));
  }
  return { weights, measures: recallOf(questions, found) };
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
  const ranks = questions.map((question, i) =>
    retrieved[i]!.findIndex((passage) => isRelevant(question, passage)),
  );
  const recallAt = (k: number): number => mean(ranks.map((rank) => Number(rank >= 0 && rank < k)));
  return Object.fromEntries(CUTOFFS.map((k) => [`recall@${k}`, recallAt(k)]));
}

const isRelevant = ({ passageId, answers }: TrainingQuestion, { id, text }: Passage): boolean =>
  passageId === undefined ? containsAnswer(text, answers) : id === passageId;
