/**
 * Removes copies and near copies of a masked sentence from a text.
 *
 * A sentence T is a near copy of the masked sentence S if it contains the entity and
 *
 *     |trigrams(S) ∩ trigrams(T)| / |trigrams(S)| >= 0.6     T repeats S, possibly within more
 * or  |trigrams(S) ∩ trigrams(T)| / |trigrams(T)| >= 0.6     T is a part of S
 *
 * over the sets of word trigrams. The second case needs 5 words in T beside the entity.
 *
 * The threshold comes from sentences of Wikipedia, SciFact and SQuAD that share an entity. Above it
 * are restatements and boilerplate ("It was listed on the National Register of Historic Places in
 * 1985"), below it different facts in similar words: "If P is not equal to NP, then P is not equal
 * to PSPACE either" and a sentence that it does not repeat share 0.50. The same fact with two words
 * changed or added shares 0.75 or more.
 */

import { type Extent, sentences } from "../../../text/sentences.ts";
import { keysOf, lettersOf, MIN_WORDS, tokensOf, type Word } from "./words.ts";

const NEAR_COPY_SHARE = 0.6;
const TRIGRAM = 3;

/** A sentence and its masked entity. */
export interface Masked {
  /** The whole sentence, with the entity. */
  readonly sentence: string;
  /** The part that is masked. */
  readonly entity: string;
}

/** Removes the sentences of `text` that contain the masked sentence or are near copies of it. */
export function removeCopies(masked: Masked, text: string): string {
  const entity = lettersOf(masked.entity);
  if (!lettersOf(text).includes(entity)) return text; // the usual case
  const keys = keysOf(tokensOf(masked.sentence));
  const trigrams = trigramsOf(keys);
  const minPiece = tokensOf(masked.entity).length + MIN_WORDS;
  let left = text;
  for (;;) {
    const extents = sentences(left);
    const spread = occurrences(tokensOf(left), keys);
    const kept = extents.filter((extent) => {
      const sentence = left.slice(extent.start, extent.end);
      return !spread.some((copy) => overlap(copy, extent)) && !isCopy(sentence);
    });
    if (kept.length === extents.length) return left;
    left = joined(left, extents, kept); // repeat: the rest can form a new copy
  }

  function isCopy(sentence: string): boolean {
    if (!lettersOf(sentence).includes(entity)) return false;
    const others = keysOf(tokensOf(sentence));
    const otherTrigrams = trigramsOf(others);
    const shared = [...otherTrigrams].filter((trigram) => trigrams.has(trigram)).length;
    const isPiece = others.length >= minPiece && shared / otherTrigrams.size >= NEAR_COPY_SHARE;
    return isPiece || shared / trigrams.size >= NEAR_COPY_SHARE;
  }
}

function trigramsOf(keys: readonly string[]): Set<string> {
  const trigrams = new Set<string>();
  for (let i = 0; i + TRIGRAM <= keys.length; i++)
    trigrams.add(keys.slice(i, i + TRIGRAM).join(" "));
  return trigrams;
}

/** The extents at which `keys` occur in sequence in `tokens`, also across sentences. */
function occurrences(tokens: readonly Word[], keys: readonly string[]): Extent[] {
  const found: Extent[] = [];
  for (let i = 0; i + keys.length <= tokens.length; i++) {
    if (!keys.every((key, j) => tokens[i + j]?.key === key)) continue;
    found.push({
      start: tokens[i]!.start,
      end: tokens[i + keys.length - 1]!.end,
    });
  }
  return found;
}

function overlap(a: Extent, b: Extent): boolean {
  return a.start < b.end && b.start < a.end;
}

/** Joins the kept sentences, each with the white space after it. */
function joined(text: string, extents: readonly Extent[], kept: readonly Extent[]): string {
  const isKept = new Set(kept);
  return extents
    .map((extent, i) => (isKept.has(extent) ? text.slice(extent.start, extents[i + 1]?.start) : ""))
    .join("")
    .trim();
}
