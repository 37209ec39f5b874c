/**
 * Words of a text in any script. Text with spaces is split at everything that is no letter, mark or
 * digit. Scripts without spaces are split by the dictionaries of ICU.
 *
 * Source: Unicode Standard Annex 29, "Unicode Text Segmentation", section 4.
 */

import type { Extent } from "../../salient-spans/index.ts";

export interface Word extends Extent {
  /** In lower case and without differences of width, for comparison. */
  readonly key: string;
}

const RUN = /[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}]+)*/gu;
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const segmenter = new Intl.Segmenter("en", { granularity: "word" });

/** The words of `text`, in order. */
export function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  const add = (start: number, word: string) =>
    words.push({ start, end: start + word.length, key: word.normalize("NFKC").toLowerCase() });
  for (const { index, 0: run } of text.matchAll(RUN)) {
    if (!UNSPACED.test(run)) add(index, run);
    else for (const part of segmenter.segment(run)) add(index + part.index, part.segment);
  }
  return words;
}
