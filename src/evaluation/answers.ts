/**
 * Measures of single answers: exact match and F1 of SQuAD, and the answer match of DPR.
 *
 * Sources: Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions for Machine Comprehension of Text",
 * section 6.1, and the evaluation script of SQuAD 2.0; Karpukhin et al. 2020, "Dense Passage
 * Retrieval for Open-Domain Question Answering", top-k retrieval accuracy.
 */

import { z } from "zod";
import { checkData } from "../options/data.ts";
import { findSequence } from "../text/find-sequence.ts";
import { normalizeText } from "../text/normalize.ts";
import { expressionOf, isExpression, matchesExpression } from "./answer-expressions.ts";

/**
 * Normalises an answer as SQuAD does: lower case, no ASCII punctuation, no articles, single spaces.
 */
export function normalizeAnswer(answer: string): string {
  return answer
    .toLowerCase()
    .replace(/[!-/:-@[-`{-~]/g, "")
    .replace(/(?<![\p{L}\p{N}])(?:a|an|the)(?![\p{L}\p{N}])/gu, " ")
    .trim()
    .replace(/\s+/g, " ");
}

/**
 * Exact match (EM): whether the normalised answer equals a normalised accepted answer. Normalised
 * answers have lower case, no ASCII punctuation, no articles and single spaces, as in SQuAD. An
 * accepted answer after `regex:` is a regular expression, which matches from the start of the
 * answer on, as in DrQA.
 *
 * @throws {InputError} unless both are texts.
 *
 * @example
 * ```ts
 * import { exactMatch } from "reatt/evaluation";
 *
 * console.log(exactMatch("The Rhine.", ["rhine"])); // true
 * ```
 */
export function exactMatch(answer: string, accepted: readonly string[]): boolean {
  checkAnswers(answer, accepted);
  const normalized = normalizeAnswer(answer);
  return accepted.some((other) => {
    const expression = expressionOf(other);
    return expression
      ? matchesExpression(expression, answer, true)
      : normalizeAnswer(other) === normalized;
  });
}

/**
 * The highest F1 over the accepted answers. With the bags of words A and B of two normalised
 * answers:
 *
 *     F1 = 2 |A ∩ B| / (|A| + |B|)
 *
 * which is the harmonic mean of precision and recall of the words. F1 of two empty answers is 1.
 * With an expression it is the exact match.
 *
 * @throws {InputError} unless both are texts.
 *
 * @example
 * ```ts
 * import { f1 } from "reatt/evaluation";
 *
 * console.log(f1("the river Rhine", ["Rhine"])); // 0.666...
 * ```
 */
export function f1(answer: string, accepted: readonly string[]): number {
  checkAnswers(answer, accepted);
  const words = normalizeAnswer(answer).split(" ");
  const scoreOf = (other: string): number =>
    isExpression(other)
      ? Number(exactMatch(answer, [other]))
      : wordF1(words, normalizeAnswer(other).split(" "));
  return accepted.reduce((best, other) => Math.max(best, scoreOf(other)), 0);
}

/** The accepted answers of a question. */
export const AcceptedAnswers: z.ZodType<string[]> = z.array(
  z.string("text"),
  "a list of accepted answers",
);

function checkAnswers(answer: unknown, accepted: unknown): void {
  checkData(z.string("text"), answer, { where: "answer", remedy: "write it as text" });
  checkData(AcceptedAnswers, accepted, { where: "accepted", remedy: "give an array of texts" });
}

function wordF1(a: readonly string[], b: readonly string[]): number {
  const unmatched = new Map<string, number>(); // word of b -> number of occurrences
  for (const word of b) unmatched.set(word, (unmatched.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of a) {
    const count = unmatched.get(word) ?? 0;
    if (count === 0) continue;
    unmatched.set(word, count - 1);
    common++;
  }
  return (2 * common) / (a.length + b.length);
}

/**
 * Whether the tokens of an accepted answer occur in sequence in the text, regardless of case, or an
 * expression matches in it (DPR's match).
 */
export function containsAnswer(text: string, accepted: readonly string[]): boolean {
  const searched = searchedText(text);
  return accepted.some((answer) => answerTest(answer)(searched));
}

/** A text in which answers are looked for: for many answers, its tokens are made once. */
export interface SearchedText {
  readonly text: string;
  readonly tokens: readonly string[];
}

export const searchedText = (text: string): SearchedText => ({ text, tokens: answerTokens(text) });

/** `containsAnswer` for one answer and many texts. */
export function answerTest(answer: string): (searched: SearchedText) => boolean {
  const expression = expressionOf(answer);
  if (expression) return ({ text }) => matchesExpression(expression, text);
  const wanted = answerTokens(answer);
  return ({ tokens }) => containsTokens(tokens, wanted);
}

/** The tokens that `containsAnswer` compares. */
export const answerTokens = (text: string): string[] =>
  normalizeText(text, "NFD")
    .toLowerCase()
    .match(/[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]/gu) ?? [];

/** Whether `answerTokens` of an answer occur in sequence in those of a text. */
export const containsTokens = (text: readonly string[], answer: readonly string[]): boolean =>
  !findSequence(text, answer).next().done;
