/**
 * Words of a text in any script, with keys that ignore case, punctuation and character width.
 *
 * Source: Unicode Standard Annex 29, "Unicode Text Segmentation", section 4.
 */

import { normalizeText } from "../../../text/normalize.ts";
import type { Extent } from "../../../text/sentences.ts";

export interface Word extends Extent {
  readonly key: string;
}

/** The words that are left of a passage, or of a sentence beside its answer, at least. */
export const MIN_WORDS = 5;

const RUN = /[\p{L}\p{M}\p{N}]+/gu;
const RUN_WITH_APOSTROPHES = /[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}]+)*/gu;
const UNSPACED_SCRIPTS = String.raw`\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}`;
const UNSPACED = new RegExp(`[${UNSPACED_SCRIPTS}]`, "u");
const CHARACTERS = new RegExp(`[${UNSPACED_SCRIPTS}]\\p{M}*|[^${UNSPACED_SCRIPTS}]+`, "gu");
const segmenter = new Intl.Segmenter("en", { granularity: "word" });

/** The words in order. Scripts without spaces are split by the dictionaries of ICU. */
export function wordsOf(text: string): Word[] {
  return splitRuns(text, RUN_WITH_APOSTROPHES, (run) =>
    Array.from(segmenter.segment(run), ({ index, segment }) => ({ index, part: segment })),
  );
}

/**
 * The words in order. In scripts without spaces, each character is one: dictionaries split a phrase
 * by its context, so that it would not be found again elsewhere.
 */
export function tokensOf(text: string): Word[] {
  return splitRuns(text, RUN, (run) =>
    Array.from(run.matchAll(CHARACTERS), ({ index, 0: part }) => ({ index, part })),
  );
}

function splitRuns(
  text: string,
  runs: RegExp,
  split: (run: string) => readonly { readonly index: number; readonly part: string }[],
): Word[] {
  return Array.from(text.matchAll(runs)).flatMap(({ index: start, 0: run }) => {
    const parts = UNSPACED.test(run) ? split(run) : [{ index: 0, part: run }];
    return parts.map(({ index, part }) => ({
      start: start + index,
      end: start + index + part.length,
      key: keyOf(part),
    }));
  });
}

export const keysOf = (words: readonly Word[]): string[] => words.map(({ key }) => key);

/** The letters and digits of `text` without what separates them: "US" for "U.S.". */
export const lettersOf = (text: string): string => keyOf(text).replace(/[^\p{L}\p{M}\p{N}]+/gu, "");

const keyOf = (text: string): string => normalizeText(text, "NFKC").toLowerCase();
