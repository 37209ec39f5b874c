/**
 * Converts English text to index terms for BM25. Source: Lucene's EnglishAnalyzer
 * (StandardTokenizer, EnglishPossessiveFilter, LowerCaseFilter, StopFilter, PorterStemFilter),
 * which the baselines of Pyserini and BEIR use.
 */

import { stemmer } from "stemmer";

/**
 * Words by Unicode's word boundaries (UAX #29, WB6-WB12): an apostrophe or a full stop joins
 * letters ("o'neil", "u.s"), and a full stop, comma, semicolon or apostrophe joins digits
 * ("1,000"). It differs from Lucene in two ways: an underscore separates words, and a run of
 * ideographs is one word.
 */
const WORD =
  /[\p{L}\p{M}\p{N}]+(?:(?:(?<=[\p{L}\p{M}])['’.](?=\p{L})|(?<=\p{N})['’.,;](?=\p{N}))[\p{L}\p{M}\p{N}]+)*/gu;

const POSSESSIVE = /['’]s$/;

/** Lucene's `EnglishAnalyzer.ENGLISH_STOP_WORDS_SET`. */
const STOP_WORDS = new Set(
  (
    "a an and are as at be but by for if in into is it no not of on or such " +
    "that the their then there these they this to was will with"
  ).split(" "),
);

const MAX_CACHED_WORDS = 2 ** 17; // about 15 MB; a look-up costs a tenth of stemming
const stems = new Map<string, string>();

/** The index terms of a text, in the order of the text: lower case, stemmed, without stop words. */
export function analyse(text: string): string[] {
  const terms: string[] = [];
  for (const match of text.toLowerCase().match(WORD) ?? []) {
    const word = match.replace(POSSESSIVE, "");
    if (!STOP_WORDS.has(word)) terms.push(stem(word));
  }
  return terms;
}

function stem(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  if (stems.size === MAX_CACHED_WORDS) stems.clear();
  // a copy, because a match keeps the whole text in memory
  const copy = Buffer.from(word).toString();
  const result = stemmer(copy);
  stems.set(copy, result);
  return result;
}
