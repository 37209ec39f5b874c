/**
 * Passages that are copies of one another, or nearly: reprints, versions, and paraphrases that keep
 * most of the wording.
 *
 * Source: Broder 1997, "On the Resemblance and Containment of Documents". The resemblance of two
 * passages is the share of their word trigrams that both have. The trigrams are hashed into bins;
 * the share of the bins with equal minima estimates the resemblance (Li, Owen and Zhang 2012, "One
 * Permutation Hashing"). Passages with an equal minimum are compared.
 */

import type { Passage } from "../../text/passage.ts";
import { extended, hashOf } from "./sources/hash.ts";
import { wordsOf } from "./sources/words.ts";

const BINS = 32;
const SHINGLE = 3; // words

/** Gives each passage the name of its group: passages of one group are near copies. */
export async function nearCopies(
  passages: Iterable<Passage> | AsyncIterable<Passage>,
  minResemblance = 0.5,
): Promise<(id: string) => string> {
  const firsts = new Map<number, { readonly id: string; readonly minima: Float64Array }>();
  const parents = new Map<string, string>();
  const groupOf = (id: string): string => {
    let root = id;
    for (let next = parents.get(root); next !== undefined; next = parents.get(root)) root = next;
    return root;
  };
  for await (const { id, text } of passages) {
    const minima = minimaOf(text);
    for (const minimum of minima) {
      if (minimum === Infinity) continue;
      const first = firsts.get(minimum);
      if (!first) firsts.set(minimum, { id, minima });
      else if (
        groupOf(first.id) !== groupOf(id) &&
        resemblance(first.minima, minima) >= minResemblance
      )
        parents.set(groupOf(id), groupOf(first.id));
    }
  }
  return groupOf;
}

/** The smallest hash of the trigrams of each bin; Infinity in a bin without any. */
function minimaOf(text: string): Float64Array {
  const words = wordsOf(text).map(({ key }) => hashOf(key));
  const minima = new Float64Array(BINS).fill(Infinity);
  for (const [i, word] of words.entries()) {
    const isLast = i + SHINGLE > words.length;
    if (isLast && i > 0) break; // a shorter text is one shingle
    const shingle = words
      .slice(i + 1, i + SHINGLE)
      .reduce((sum, next) => extended(sum, next), word);
    minima[shingle % BINS] = Math.min(minima[shingle % BINS]!, shingle);
  }
  return minima;
}

/** The share of equal bins among those that have a trigram of one of the two. */
function resemblance(a: Float64Array, b: Float64Array): number {
  let used = 0;
  let equal = 0;
  for (let bin = 0; bin < BINS; bin++) {
    if (a[bin]! < Infinity || b[bin]! < Infinity) used++;
    if (a[bin]! < Infinity && a[bin] === b[bin]) equal++;
  }
  return equal / used;
}
