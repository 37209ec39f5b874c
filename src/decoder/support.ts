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

/** The terms that a question is about, without those of its form. */
export const askedTerms = (question: string): readonly string[] => [
  ...new Set(termsOf(question).filter((term) => !FORM_OF_A_QUESTION.has(term))),
];

/** Which terms stand in no text. */
export function missingTerms(terms: readonly string[], texts: readonly Text[]): readonly string[] {
  const found = new Set(texts.flatMap(({ title = "", text }) => termsOf(`${title} ${text}`)));
  return terms.filter((term) => !found.has(term));
}

/** The share of the terms that a question is about which stand in no text; 0 for one without. */
export function unmatchedShare(question: string, texts: readonly Text[]): number {
  const terms = askedTerms(question);
  return terms.length === 0 ? 0 : missingTerms(terms, texts).length / terms.length;
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
/** With a digit, or a host or an address: mail.example.org. */
const CODE = /\p{N}|[\p{L}\p{N}]{2}[.@][\p{L}\p{N}]{2}/u;
/** Of IP, RAM or ISO a text can speak in other words. */
const ABBREVIATION = /^\p{Lu}{1,5}s?$/u;
const MAX_MISSING = 2;

/** A number, code or name of a question. */
export interface Specific {
  /** As the question has it. */
  readonly written: string;
  /** In lower case, without the signs and letters of its form: what texts are searched for. */
  readonly word: string;
}

/**
 * Which numbers, codes and names of a question stand in no text: a passage about another record,
 * year or person is no answer. Of 2,890 questions about documents, 3.5 % have one that the passage
 * with their answer lacks, and of 425 that ask for a record that is not there, 54.4 % have one that
 * the best passage of BM25 lacks.
 *
 * @param specifics `specificsOf` the question
 */
export function missingSpecifics(
  specifics: readonly Specific[],
  texts: readonly Text[],
): readonly Specific[] {
  if (specifics.length === 0) return specifics; // most questions have none
  const found = withoutJoints(texts.map(({ title = "", text }) => `${title} ${text}`).join(" "));
  const missing = specifics.filter(({ word }) => !hasWord(found, word));
  if (missing.length === 0) return missing; // the terms of a text take longer
  const terms = new Set(termsOf(found));
  return missing.filter(({ word }) => !termsOf(word).every((term) => terms.has(term)));
}

/**
 * How many of the missing specifics count, at most 2; and of these, how many no passage of the
 * index has. A name that other passages have is often that of the whole document: of 1,892
 * questions about documents, 1.0 % have one that is nowhere, and of 265 that ask for a record that
 * is not there 40.4 %.
 *
 * @param known the specifics that some passage has; undefined if that is not known
 */
export const missingSignals = (
  missing: readonly Specific[],
  known: ReadonlySet<string> | undefined,
): { readonly missing: number; readonly unknown: number | undefined } => ({
  missing: Math.min(MAX_MISSING, missing.length),
  unknown: known && Math.min(MAX_MISSING, unknownOf(missing, known).length),
});

/** Those that no passage of an index has. */
export const unknownOf = (
  missing: readonly Specific[],
  known: ReadonlySet<string>,
): readonly Specific[] => missing.filter(({ word }) => !known.has(word));

/** Numbers, codes, and capitalised words that begin no sentence. */
export function specificsOf(question: string): readonly Specific[] {
  const words = Array.from(question.matchAll(WORD));
  const isCapital = (word: string): boolean => /^\p{Lu}/u.test(word) && !ABBREVIATION.test(word);
  // Where most words are capitalised, as in a title, none is a name for that.
  const hasNames = 2 * words.filter(([word]) => isCapital(word)).length <= words.length + 2;
  const isSpecific = ({ 0: word, index }: RegExpExecArray): boolean =>
    CODE.test(word) ||
    (hasNames && isCapital(word) && !SENTENCE_END.test(question.slice(0, index)));
  const specifics = words.filter(isSpecific).map(([written]): [string, Specific] => {
    const plain = withoutJoints(written);
    const word = NUMBER.exec(plain)?.[1] ?? plain;
    return [word, { written, word }];
  });
  return [...new Map(specifics).values()];
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
