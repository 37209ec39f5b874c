/** What of a question stands in the texts that could answer it. */

import type { PassageInput } from "../text/passage.ts";
import { termsOf } from "../text/terms.ts";

type Text = Pick<PassageInput, "title" | "text">;

/** Words that say how something is asked, and not what about. Stop words are no terms anyway. */
const FORM_OF_A_QUESTION = new Set(
  (
    "who whom whose what which when where why how do does did done can could may might must shall " +
    "should would i me my mine we us our you your he she his her its them am were been being " +
    "have has had having get gets got give need want please tell any some here than so too also " +
    "just only more most much many one if whether from about between"
  )
    .split(" ")
    .flatMap((word) => termsOf(word)),
);

/** The share of the terms that a question is about which stand in no text; 0 for one without. */
export function unmatchedShare(question: string, texts: readonly Text[]): number {
  const terms = new Set(termsOf(question).filter((term) => !FORM_OF_A_QUESTION.has(term)));
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

const WORD = /[\p{L}\p{N}](?:[\p{L}\p{N}_.,:/@+-]*[\p{L}\p{N}])?/gu;
/** A number with the letters of its version, unit or order: v5.0, 15m, 2nd. */
const NUMBER = /^v?(\p{N}[\p{N}.,]*)\p{L}{0,2}$/u;
const SENTENCE_END = /(?:^|[.?!:…])["'”’)\]]*\s*$/u;
const MAX_MISSING = 2;

/**
 * How many numbers, codes and names of a question stand in no text, at most 2: a passage about
 * another record, year or person is no answer. Of 2,890 questions about documents, 3.8 % have one
 * that the passage with their answer lacks, and of 425 that ask for a record that is not there,
 * 55.5 % have one that the best passage of BM25 lacks.
 */
export function missingSpecifics(question: string, texts: readonly Text[]): number {
  const found = withoutJoints(texts.map(({ title = "", text }) => `${title} ${text}`).join(" "));
  const missing = [...specificsOf(question)].filter((word) => !hasWord(found, word));
  if (missing.length === 0) return 0; // the terms of a text take longer
  const terms = new Set(termsOf(found));
  const isInflected = (word: string): boolean => termsOf(word).every((term) => terms.has(term));
  return Math.min(MAX_MISSING, missing.filter((word) => !isInflected(word)).length);
}

/** Numbers, codes, and capitalised words that begin no sentence, in lower case. */
function specificsOf(question: string): Set<string> {
  const words = Array.from(question.matchAll(WORD));
  const isCapital = (word: string): boolean => /^\p{Lu}/u.test(word) && word !== "I";
  // Where most words are capitalised, as in a title, none is a name for that.
  const hasNames = 2 * words.filter(([word]) => isCapital(word)).length <= words.length + 2;
  const isSpecific = ({ 0: word, index }: RegExpExecArray): boolean =>
    /\p{N}/u.test(word) ||
    (hasNames && isCapital(word) && !SENTENCE_END.test(question.slice(0, index)));
  return new Set(
    words.filter(isSpecific).map(([word]) => {
      const plain = withoutJoints(word);
      return NUMBER.exec(plain)?.[1] ?? plain;
    }),
  );
}

/** In lower case, without the signs within numbers and codes: 1,000 as 1000, UTF-8 as utf8. */
const withoutJoints = (text: string): string =>
  text.toLowerCase().replace(/(?<=\p{N}),(?=\p{N}{3}(?!\p{N}))|(?<=\p{L})-(?=\p{N})/gu, "");

/** Whether a text has a word that is no part of a longer one: `12` is in `12kg`, not in `1912`. */
function hasWord(text: string, word: string): boolean {
  const divides = (inside: string, outside = " "): boolean =>
    ![/\p{L}/u, /\p{N}/u].some((kind) => kind.test(inside) && kind.test(outside));
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1))
    if (divides(word[0]!, text[at - 1]) && divides(word.at(-1)!, text[at + word.length]))
      return true;
  return false;
}
