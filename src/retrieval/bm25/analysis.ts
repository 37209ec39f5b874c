/**
 * English text into index terms, for BM25. Source: Lucene's EnglishAnalyzer (StandardTokenizer, EnglishPossessiveFilter,
 * LowerCaseFilter, StopFilter, PorterStemFilter), which Pyserini's and BEIR's baselines use.
 */

import { stemmer } from "stemmer";

/**
 * Words as Unicode's word boundaries have them (UAX #29, WB6-WB12): an apostrophe or a full stop joins letters ("o'neil",
 * "u.s"), and full stop, comma, semicolon or apostrophe join digits ("1,000"). Two things are simpler than in Lucene: an
 * underscore separates, and a run of ideographs is one word.
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

const MAX_CACHED_WORDS = 2 ** 17; // about 15 MB; English text repeats itself, and stemming costs ten times a look-up
const stems = new Map<string, string>();

/** The index terms of a text, in the order of the text: lower case, without stop words, stemmed. */
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
  const copy = Buffer.from(word).toString(); // a match is a view that would keep the whole text alive
  const result = stemmer(copy);
  stems.set(copy, result);
  return result;
}
