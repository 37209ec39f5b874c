/**
 * The model inputs of questions and passages, as text and as token ids.
 *
 * Source: the authors' release of ReAtt. Retrieval uses the question with a final `</s>`, reading
 * uses it without. A passage always has a final `</s>`.
 */

import { InputError } from "../../io/errors.ts";
import type { PassageInput } from "../passage.ts";
import { readingForm } from "../reading-form.ts";
import { type Span, spanInside } from "../span.ts";
import type { Prompts, Tokenizer } from "./tokenizer-interface.ts";

/**
 * Includes the prompt and `</s>`. The longest questions of BEIR, the arguments of ArguAna, are
 * shorter.
 */
export const MAX_QUESTION_TOKENS = 512;
/** Tokens that `cutForReading` always leaves for the passage. */
const MIN_PASSAGE_TOKENS = 3;

export function questionPrompt(question: string, prompts: Prompts = REATT): string {
  return prompts.question + question;
}

/** Tables are labelled: see reading-form.ts. */
export function passagePrompt(
  passage: Pick<PassageInput, "title" | "text">,
  prompts?: Prompts | undefined,
): string {
  return promptOf(prompts, passage.title ?? "", readingForm(passage.text).text);
}

const REATT: Prompts = { question: "question: ", title: "title: ", text: " context: " };

const promptOf = (prompts: Prompts = REATT, title: string, text: string): string =>
  title === "" && prompts.untitled !== undefined
    ? prompts.untitled + text
    : prompts.title + title + prompts.text + text;

/** Characters of a field of a passage. */
export interface FieldSpan {
  readonly field: "title" | "text";
  readonly span: Span;
}

/**
 * Tells where characters of the prompt of a passage stand in its title or its text. Of characters
 * that reach beyond the field, the part inside of it; undefined for others.
 *
 * @param withNames whether a name of a column that was added to a row stands above its column
 */
export function placesInPrompt(
  { title = "", text }: Pick<PassageInput, "title" | "text">,
  withNames = false,
  prompts: Prompts = REATT,
): (inPrompt: Span) => FieldSpan | undefined {
  const labelled = readingForm(text);
  const origin = withNames ? labelled.named : labelled.origin;
  const textStart = promptOf(prompts, title, "").length;
  return (inPrompt) => {
    const own = spanInside(inPrompt, textStart, labelled.text.length);
    const span = own && spanInOrigin(own, origin);
    if (span) return { field: "text", span };
    const inTitle = own ? undefined : spanInside(inPrompt, prompts.title.length, title.length);
    return inTitle && { field: "title", span: inTitle };
  };
}

function spanInOrigin({ start, end }: Span, origin: Int32Array | undefined): Span | undefined {
  if (!origin) return { start, end };
  const given = origin.subarray(start, end);
  const first = given.find((at) => at >= 0);
  return first === undefined
    ? undefined
    : { start: first, end: given.findLast((at) => at >= 0)! + 1 };
}

/**
 * The token ids of a question for retrieval, with a final `</s>`.
 *
 * @throws {InputError} if the question is empty or has more than {@link MAX_QUESTION_TOKENS}
 * tokens.
 */
export function retrievalQuestionIds(tokenizer: Tokenizer, question: string): number[] {
  if (tokenizer.encode(question, 1).length === 0) {
    throw new InputError({
      where: "question",
      expected: "a question",
      got: "no text",
      remedy: "write one",
    });
  }
  const prompt = questionPrompt(question, tokenizer.prompts);
  const ids = [...tokenizer.encode(prompt, MAX_QUESTION_TOKENS), tokenizer.eosId];
  if (ids.length > MAX_QUESTION_TOKENS) {
    throw new InputError({
      where: `question "${question.slice(0, 40)}…"`,
      expected: `at most ${MAX_QUESTION_TOKENS} tokens`,
      got: `more in ${question.length} characters`,
      remedy: "ask a shorter one",
    });
  }
  return ids;
}

/** A question, or as many of its words as the model reads. */
export function fittingQuestion(tokenizer: Tokenizer, question: string): string {
  const fits = (text: string): boolean =>
    tokenizer.encode(questionPrompt(text, tokenizer.prompts), MAX_QUESTION_TOKENS).length <
    MAX_QUESTION_TOKENS;
  if (fits(question)) return question;
  const ends = Array.from(question.matchAll(/\S+/g), ({ 0: word, index }) => index + word.length);
  let [low, high] = [0, ends.length]; // so many words fit, and so many do not
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (fits(question.slice(0, ends[middle - 1]))) low = middle;
    else high = middle;
  }
  return question.slice(0, low === 0 ? MAX_QUESTION_TOKENS / 4 : ends[low - 1]);
}

/** The token ids of a question for reading: the ids for retrieval without the final `</s>`. */
export function readingQuestionIds(retrievalIds: readonly number[]): number[] {
  return retrievalIds.slice(0, -1);
}

/**
 * The token ids of a passage for indexing and reading, cut to `maxTokens` including the final
 * `</s>`.
 */
export function passageIds(
  tokenizer: Tokenizer,
  passage: Pick<PassageInput, "title" | "text">,
  maxTokens: number,
): number[] {
  const ids = tokenizer.encode(passagePrompt(passage, tokenizer.prompts), maxTokens);
  return truncatePassage([...ids, tokenizer.eosId], maxTokens);
}

/** The number of a passage's tokens that `passageIds` cuts off. */
export const tokensOver = (
  tokenizer: Tokenizer,
  passage: Pick<PassageInput, "title" | "text">,
  maxTokens: number,
): number =>
  Math.max(0, tokenizer.encode(passagePrompt(passage, tokenizer.prompts)).length + 1 - maxTokens);

/**
 * Cuts question and passage to `maxInputTokens` together, as the authors' release does: the
 * question to `maxInputTokens - 3`, then the passage to the remaining length. The passage keeps its
 * final `</s>`.
 *
 * @throws {InputError} if there is no room for a question.
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

/** Cuts to `maxTokens` ids: the first `maxTokens - 1` and the final `</s>`. */
function truncatePassage(ids: readonly number[], maxTokens: number): number[] {
  return ids.length <= maxTokens ? [...ids] : [...ids.slice(0, maxTokens - 1), ids.at(-1)!];
}
