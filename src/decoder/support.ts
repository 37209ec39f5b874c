/** What of a question stands in the texts that could answer it. */

import type { PassageInput } from "../text/passage.ts";
import { termsOf } from "../text/terms.ts";

type Text = Pick<PassageInput, "title" | "text">;

/** The share of the terms of a question that stand in no text; 0 for one without terms. */
export function unmatchedShare(question: string, texts: readonly Text[]): number {
  const terms = new Set(termsOf(question));
  if (terms.size === 0) return 0;
  const found = new Set(texts.flatMap(({ title = "", text }) => termsOf(`${title} ${text}`)));
  return [...terms].filter((term) => !found.has(term)).length / terms.size;
}

/** Whether an answer only repeats words of the question, and the question offers no choice. */
export function repeatsQuestion(question: string, answer: string): boolean {
  const wordsOf = (text: string): string =>
    ` ${(text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).join(" ")} `;
  const asked = wordsOf(question);
  return asked.includes(wordsOf(answer)) && !asked.includes(" or ");
}

/** A word with a digit, or a capitalised one that does not begin the question. */
const SPECIFIC = /[\p{L}\p{N}](?:[\p{L}\p{N}_.,:/@+-]*[\p{L}\p{N}])?/gu;
const MAX_MISSING = 2;

/**
 * How many numbers, codes and names of a question stand in no text, at most 2: a passage about
 * another record, year or person is no answer.
 */
export function missingSpecifics(question: string, texts: readonly Text[]): number {
  const found = texts.map(({ title = "", text }) => `${title} ${text}`.toLowerCase()).join(" ");
  const specifics = Array.from(question.matchAll(SPECIFIC)).filter(
    ({ 0: word, index }) => /\p{N}/u.test(word) || (index > 0 && /^\p{Lu}/u.test(word)),
  );
  const missing = new Set(specifics.map(([word]) => word.toLowerCase()));
  for (const word of missing) if (hasWord(found, word)) missing.delete(word);
  return Math.min(MAX_MISSING, missing.size);
}

/** Whether a text has a word that is no part of a longer one: `12` does not stand in `1912`. */
function hasWord(text: string, word: string): boolean {
  const isPart = (character: string): boolean => /[\p{L}\p{N}]/u.test(character);
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1))
    if (!isPart(text[at - 1] ?? "") && !isPart(text[at + word.length] ?? "")) return true;
  return false;
}
