/** Predictions of a question-answering system against accepted answers. */

import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { readJsonLines } from "../io/json-lines.ts";
import type { Question } from "../text/read-passages.ts";
import { containsAnswer, exactMatch, f1 } from "./answers.ts";
import { DEFAULT_CUTOFFS, type Measures, mean } from "./measures.ts";

/** What a system says to a question. */
export interface Prediction {
  /** Empty where it abstained. */
  readonly answer: string;
  /** Texts of the passages that it retrieved, best first. */
  readonly passages: readonly string[];
}

export interface AnswerEvaluation {
  /**
   * Means over all questions, 0 to 1: `exactMatch`, `f1`, and `recall@k`, the share of questions with an accepted answer in one
   * of the k best passages, for each cutoff down to which passages are given.
   */
  readonly measures: Measures;
  readonly questions: number;
  /** Questions without a prediction; they count 0, as in SQuAD's script. */
  readonly unanswered: number;
}

const predictionLine = z.object({
  id: z.union([z.string(), z.number()]).transform(String),
  answer: z.string(),
  passages: z.array(z.object({ text: z.string() })).default([]),
});

/**
 * Predictions as `reatt answer --queries FILE --json` prints them: `{"id", "answer", "passages": [{"text"}]}` a line.
 *
 * @throws {InputError} with file and line: a field is missing, or a question is answered twice.
 */
export async function readPredictions(file: string): Promise<Map<string, Prediction>> {
  const predictions = new Map<string, Prediction>();
  for await (const { line, value } of readJsonLines(file)) {
    const where = `${file}:${line}`;
    const { data, error } = predictionLine.safeParse(value);
    if (error) {
      const { path, message } = error.issues[0]!;
      const got = `${path.join(".") || "the line"}: ${message}`;
      const remedy = "write what `reatt answer --queries FILE --json` prints";
      throw new InputError({ where, expected: '{"id", "answer", "passages"}', got, remedy });
    }
    if (predictions.has(data.id)) {
      throw new InputError({
        where,
        expected: "one prediction for each question",
        got: `"${data.id}" again`,
        remedy: "keep one of them",
      });
    }
    predictions.set(data.id, {
      answer: data.answer,
      passages: data.passages.map(({ text }) => text),
    });
  }
  return predictions;
}

/** Evaluates predictions, by question id. A question without accepted answers cannot be right. */
export function evaluateAnswers(
  predictions: ReadonlyMap<string, Prediction>,
  questions: readonly Question[],
  cutoffs: readonly number[] = DEFAULT_CUTOFFS,
): AnswerEvaluation {
  const depth = Math.max(0, ...Array.from(predictions.values(), ({ passages }) => passages.length));
  const reached = cutoffs.filter((k) => k <= depth);
  const each = questions
    .filter(({ id }) => predictions.has(id))
    .map(({ id, answers = [] }) => measureAnswer(predictions.get(id)!, answers, reached));
  return {
    measures: mean(each, questions.length),
    questions: questions.length,
    unanswered: questions.length - each.length,
  };
}

function measureAnswer(
  { answer, passages }: Prediction,
  accepted: readonly string[],
  cutoffs: readonly number[],
): Measures {
  const rank = passages.findIndex((text) => containsAnswer(text, accepted)); // from 0; -1 if there is none
  return {
    exactMatch: Number(exactMatch(answer, accepted)),
    f1: f1(answer, accepted),
    ...Object.fromEntries(cutoffs.map((k) => [`recall@${k}`, Number(rank >= 0 && rank < k)])),
  };
}
