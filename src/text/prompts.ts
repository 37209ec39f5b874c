/**
 * How questions and passages are written for the model, as text and as token ids.
 *
 * Source: the authors' release. A question is retrieved with `</s>` at its end and read without it; a passage has it always.
 */

import { InputError } from "../io/errors.ts";
import type { Passage } from "./passage.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** Tokens of a question with its prompt and `</s>`; the longest questions of BEIR (ArguAna's arguments) stay below. */
export const MAX_QUESTION_TOKENS = 512;
/** What is left at least for the passage when question and passage are cut together. */
const MIN_PASSAGE_TOKENS = 3;

export function questionPrompt(question: string): string {
  return `question: ${question}`;
}

export function passagePrompt(passage: Pick<Passage, "title" | "text">): string {
  return `title: ${passage.title} context: ${passage.text}`;
}

/**
 * The ids with which a question is retrieved, `</s>` at the end.
 *
 * @throws {InputError} when the question is empty or has more than {@link MAX_QUESTION_TOKENS}.
 */
export function retrievalQuestionIds(tokenizer: Tokenizer, question: string): number[] {
  if (tokenizer.encode(question).length === 0) {
    throw new InputError({
      where: "question",
      expected: "a question",
      got: "no text",
      remedy: "write one",
    });
  }
  const ids = [...tokenizer.encode(questionPrompt(question)), tokenizer.eosId];
  if (ids.length > MAX_QUESTION_TOKENS) {
    throw new InputError({
      where: `question "${question.slice(0, 40)}…"`,
      expected: `at most ${MAX_QUESTION_TOKENS} tokens`,
      got: `${ids.length}`,
      remedy: "ask a shorter one",
    });
  }
  return ids;
}

/** The ids with which a question is read: those with which it is retrieved, without the `</s>`. */
export function readingQuestionIds(retrievalIds: readonly number[]): number[] {
  return retrievalIds.slice(0, -1);
}

/** The ids of a passage, indexed and read alike, cut to `maxTokens` with `</s>` still at the end. */
export function passageIds(
  tokenizer: Tokenizer,
  passage: Pick<Passage, "title" | "text">,
  maxTokens: number,
): number[] {
  return truncatePassage([...tokenizer.encode(passagePrompt(passage)), tokenizer.eosId], maxTokens);
}

/**
 * Question and passage cut to `maxInputTokens` together, as the release cuts them: the question to `maxInputTokens - 3`, the
 * passage, whose last token is `</s>`, to what is then left.
 *
 * @throws {InputError} when that leaves no room for a question.
 */
export function cutForReading(
  question: readonly number[],
  passage: readonly number[],
  maxInputTokens: number,
): { question: number[]; passage: number[] } {
  if (maxInputTokens <= MIN_PASSAGE_TOKENS) {
    throw new InputError({
      where: "maxInputTokens",
      expected: `more than ${MIN_PASSAGE_TOKENS}`,
      got: `${maxInputTokens}`,
      remedy: "leave room for a question and a passage",
    });
  }
  const kept = question.slice(0, maxInputTokens - MIN_PASSAGE_TOKENS);
  return { question: kept, passage: truncatePassage(passage, maxInputTokens - kept.length) };
}

/** The first `maxTokens - 1` ids and the last, `</s>`, where there are more than `maxTokens`. */
function truncatePassage(ids: readonly number[], maxTokens: number): number[] {
  return ids.length <= maxTokens ? [...ids] : [...ids.slice(0, maxTokens - 1), ids.at(-1)!];
}
