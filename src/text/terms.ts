/**
 * The index terms of a text, for BM25. In English they are those of Lucene's EnglishAnalyzer
 * (StandardTokenizer, EnglishPossessiveFilter, LowerCaseFilter, StopFilter, PorterStemFilter),
 * which the baselines of Pyserini and BEIR use. Words of other languages are stemmed by Snowball's
 * rules for them. Terms are in normal form, without accents: `Café` and `cafe` are one term. What
 * signs join is one more term: `max_retry_count`.
 */

import { stemmer } from "stemmer";
import { segments } from "./expressions.ts";
import { type Language, letterOf, loadStemmer, scriptOf } from "./languages.ts";
import { normalForm, withoutAccents } from "./normal-form.ts";

/**
 * Words by Unicode's word boundaries (UAX #29, WB6-WB12): an apostrophe or a full stop joins
 * letters ("o'neil", "u.s"), and a full stop, comma, semicolon or apostrophe joins digits
 * ("1,000"). It differs from Lucene in two ways: an underscore separates words, and a run of a
 * script without spaces is divided by a dictionary.
 */
const WORD =
  /[\p{L}\p{M}\p{N}]+(?:(?:(?<=[\p{L}\p{M}])['.](?=\p{L})|(?<=\p{N})['.,;](?=\p{N}))[\p{L}\p{M}\p{N}]+)*/gu;

const POSSESSIVE = /'s$/;

/**
 * Words that signs join: 2024-01-10, max_retry_count, api-03.example.org, src/net/http.ts. They are
 * terms as a whole, too: their words alone are those of 2024-10-01 and count_max_retry.
 */
const EXPRESSION =
  /(?<![\p{L}\p{M}\p{N}])[\p{L}\p{M}\p{N}]+(?:[-_./⁄\\:@#+&~]{1,2}[\p{L}\p{M}\p{N}]+)+/gu;
const WHOLE_WORD = new RegExp(`^(?:${WORD.source})$`, "u");

/** Lucene's `EnglishAnalyzer.ENGLISH_STOP_WORDS_SET`. */
const STOP_WORDS = new Set(
  (
    "a an and are as at be but by for if in into is it no not of on or such " +
    "that the their then there these they this to was will with"
  ).split(" "),
);

/** The version of the terms. Indexes hold terms: raise it when a text gets others. */
export const ANALYSIS = 2;

/** Gives the terms of a text: its words in their order, then its expressions. */
export interface Analyser {
  readonly languages: readonly Language[];
  terms(text: string): string[];
}

/**
 * An analyser for texts in these languages. A word has a term for each of the languages of its
 * script that stem it differently; words of other scripts are not stemmed.
 */
export async function openAnalyser(languages: readonly Language[]): Promise<Analyser> {
  const stemmers = await Promise.all(
    languages.map(async (language) => ({
      inScript: new RegExp(letterOf(scriptOf(language)).source, "u"),
      stem: await loadStemmer(language),
    })),
  );
  const stems: Stems = (word) => {
    const own = stemmers.filter(({ inScript }) => inScript.test(word));
    return own.length === 0 ? [word] : own.map(({ stem }) => stem(word));
  };
  return { languages, terms: analysis(stems, languages.includes("en")) };
}

/**
 * The terms of an English text: lower case, stemmed, without stop words.
 *
 * @example
 * termsOf("The cats are running"); // ["cat", "run"]
 */
export const termsOf: (text: string) => string[] = analysis((word) => [stemmer(word)], true);

/** The stems of a word: one, or several in texts of two languages. */
type Stems = (word: string) => readonly string[];

function analysis(stemsOf: Stems, isEnglish: boolean): (text: string) => string[] {
  const termsOf = remembering((word) => [...new Set(stemsOf(word).map(folded))]);
  return (text) => {
    const form = normalForm(text).normalize("NFC");
    const runs: string[] = form.match(WORD) ?? [];
    const words = UNDIVIDED.test(form) ? runs.flatMap(dividedWords) : runs;
    const meant = isEnglish
      ? words.map((word) => word.replace(POSSESSIVE, "")).filter((word) => !STOP_WORDS.has(word))
      : words;
    return [...meant.flatMap(termsOf), ...expressionsIn(form)];
  };
}

/** The expressions of a text that are not words themselves. */
const expressionsIn = (form: string): string[] =>
  (form.match(EXPRESSION) ?? [])
    .filter((expression) => !WHOLE_WORD.test(expression))
    .map((expression) => folded(expression.replaceAll("⁄", "/"))); // of ½

/** Most terms are ASCII, which has no accents. */
const folded = (term: string): string =>
  /^[ -~]*$/.test(term) ? term : withoutAccents(term.normalize("NFD")).normalize("NFC");

const UNDIVIDED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

/** Whether the words of a text depend on the dictionary of ICU. */
export const needsDictionary = (text: string): boolean => UNDIVIDED.test(text);

/** The words of a run of letters: several in a script without spaces. */
function dividedWords(run: string): readonly string[] {
  if (!UNDIVIDED.test(run)) return [run];
  const words = Array.from(segments(run), ({ segment }) => segment);
  const terms: string[] = [];
  for (const [i, word] of words.entries()) {
    terms.push(word);
    // The dictionary does not know a name of which it makes single letters: its pairs are terms.
    const next = words[i + 1];
    if (next !== undefined && isLetter(word) && isLetter(next)) terms.push(word + next);
  }
  return terms;
}

const isLetter = (word: string): boolean => /^\p{L}\p{M}*$/u.test(word);

const MAX_CACHED_WORDS = 2 ** 17; // about 15 MB; a look-up costs a tenth of stemming

/** Keeps the stems of words that it has seen. */
function remembering(stemsOf: Stems): Stems {
  const stems = new Map<string, readonly string[]>();
  return (word) => {
    const known = stems.get(word);
    if (known !== undefined) return known;
    if (stems.size === MAX_CACHED_WORDS) stems.clear();
    // a copy, because a match keeps the whole text in memory
    const copy = Buffer.from(word).toString();
    const result = stemsOf(copy);
    stems.set(copy, result);
    return result;
  };
}
