/**
 * Copies and near copies of a masked sentence, wherever they are: with one of them in sight the answer is read off,
 * and retrieval learns to look for equal strings.
 *
 * A sentence T is a near copy of the masked sentence S when it holds the entity and
 *
 *     |trigrams(S) ∩ trigrams(T)| / |trigrams(S)| ≥ 0.6        (T says S again, perhaps within more)
 * or  the same over |trigrams(T)|, T having 5 words or more beside the entity   (T is a piece of S)
 *
 * over the sets of word trigrams. The threshold is where, among sentences of Wikipedia, SciFact and SQuAD that share
 * an entity, restatements and boilerplate ("It was listed on the National Register of Historic Places in 1985") end
 * and different facts in similar words begin: "If P is not equal to NP, then P is not equal to PSPACE either" has
 * 0.50 of a sentence that it does not repeat; the same fact with two words changed or added has 0.75 or more.
 */

import { type Extent, sentences } from "./sentences.ts";
import { keysOf, lettersOf, type Token, tokensOf } from "./tokens.ts";

/** Fewer words than these, beside the entity, ask nothing: the papers' filter. */
export const MIN_WORDS = 5;

const NEAR_COPY = 0.6;
const SHINGLE = 3;

/** A sentence and what is masked in it. */
export interface Masked {
  readonly sentence: string;
  readonly entity: string;
}

/** `text` without the sentences in which the masked sentence, or nearly it, can be read. */
export function removeCopies(masked: Masked, text: string): string {
  const entity = lettersOf(masked.entity);
  if (!lettersOf(text).includes(entity)) return text; // the usual case
  const keys = keysOf(tokensOf(masked.sentence));
  const shingles = shinglesOf(keys);
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
    left = joined(left, extents, kept); // and again: what is left may meet to make a new copy
  }

  function isCopy(sentence: string): boolean {
    if (!lettersOf(sentence).includes(entity)) return false;
    const others = keysOf(tokensOf(sentence));
    const otherShingles = shinglesOf(others);
    const shared = [...otherShingles].filter((shingle) => shingles.has(shingle)).length;
    const isPiece = others.length >= minPiece && shared / otherShingles.size >= NEAR_COPY;
    return isPiece || shared / shingles.size >= NEAR_COPY;
  }
}

function shinglesOf(keys: readonly string[]): Set<string> {
  const shingles = new Set<string>();
  for (let i = 0; i + SHINGLE <= keys.length; i++)
    shingles.add(keys.slice(i, i + SHINGLE).join(" "));
  return shingles;
}

/** Where `keys` stand one after the other among `tokens`, over the boundaries of sentences too. */
function occurrences(tokens: readonly Token[], keys: readonly string[]): Extent[] {
  const found: Extent[] = [];
  for (let i = 0; i + keys.length <= tokens.length; i++) {
    if (!keys.every((key, j) => tokens[i + j]?.key === key)) continue;
    found.push({
      start: (tokens[i] as Token).start,
      end: (tokens[i + keys.length - 1] as Token).end,
    });
  }
  return found;
}

function overlap(a: Extent, b: Extent): boolean {
  return a.start < b.end && b.start < a.end;
}

/** The kept sentences, each with the white space that followed it. */
function joined(text: string, extents: readonly Extent[], kept: readonly Extent[]): string {
  const isKept = new Set(kept);
  return extents
    .map((extent, i) => (isKept.has(extent) ? text.slice(extent.start, extents[i + 1]?.start) : ""))
    .join("")
    .trim();
}
