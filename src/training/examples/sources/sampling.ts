/**
 * Which passages examples are drawn from, and the units of a text that can be queries: sentences,
 * or windows of words where a text has no sentence ends. Seed and id decide, whatever the order of
 * the corpus.
 */

import { createRandom } from "../../../math/random.ts";
import { type Extent, sentences } from "../../../text/sentences.ts";
import { MIN_WORDS, type Word, wordsOf } from "./words.ts";

/** The authors' experiments used 1 to 5 sentences of a passage. */
export const MAX_PER_PASSAGE = 5;

export interface Sample {
  /** Approximate number of examples. */
  readonly wanted: number;
  /** Decides what is random. */
  readonly seed: number;
}

/** Examples of a passage, and the share of the passages to draw. */
export function samplingOf(
  { size }: { readonly size: number },
  wanted: number,
): { readonly perPassage: number; readonly share: number } {
  const perPassage = Math.max(1, Math.min(MAX_PER_PASSAGE, Math.ceil(wanted / size)));
  return { perPassage, share: wanted / (size * perPassage) };
}

/** Whether `id` is drawn. @param name of the draw */
export const isDrawn =
  (seed: number, name: string, share: number) =>
  (id: string): boolean =>
    share >= 1 || createRandom(seed, name, id).next() < share;

/** A longer sentence is usually a list, or text without punctuation: it is cut into windows. */
const MAX_WORDS = 60;
/** Words of a window. Questions and sentences have about as many. */
const WINDOW = 20;
/** A text that is one sentence is cut into this number of windows, if it has the words. */
const PARTS_OF_SENTENCE = 3;

/** The units of a text in order, each with at least five words. */
export function unitsOf(text: string): Extent[] {
  const found = sentences(text);
  return found.flatMap((sentence) => {
    const words = wordsOf(text.slice(sentence.start, sentence.end));
    if (words.length < MIN_WORDS) return [];
    if (words.length > MAX_WORDS) return windows(words, WINDOW, sentence.start);
    const third = Math.floor(words.length / PARTS_OF_SENTENCE);
    return found.length === 1 && third >= MIN_WORDS
      ? windows(words, third, sentence.start)
      : [sentence];
  });
}

/** Windows of `size` words. The last one takes the rest, so none is shorter. */
function windows(words: readonly Word[], size: number, offset: number): Extent[] {
  const count = Math.floor(words.length / size);
  return Array.from({ length: count }, (_, i) => ({
    start: offset + words[i * size]!.start,
    end: offset + (i === count - 1 ? words.at(-1)! : words[(i + 1) * size - 1]!).end,
  }));
}
