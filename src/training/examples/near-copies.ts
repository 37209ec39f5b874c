/**
 * Passages that are copies of one another, or nearly: reprints, versions, and paraphrases that keep
 * most of the wording.
 *
 * Source: Broder 1997, "On the Resemblance and Containment of Documents". The resemblance of two
 * passages is the share of their word trigrams that both have. The share of equal minima of their
 * hashes estimates it. Pairs to compare are found by bands of minima (Leskovec, Rajaraman and
 * Ullman, "Mining of Massive Datasets", section 3.4). A pair of resemblance 0.6 is found in nine of
 * ten cases, one of 0.3 in one of a hundred.
 */

import type { Passages } from "./example.ts";
import { extended, hashOf } from "./sources/hash.ts";
import { wordsOf } from "./sources/words.ts";

const MIN_RESEMBLANCE = 0.5;
const MINIMA = 32;
const MINIMA_OF_BAND = 2;
const SHINGLE = 3; // words

/** Gives each passage the name of its group: passages of one group are near copies. */
export async function nearCopies(
  corpus: Passages,
  accept: (id: string) => boolean,
): Promise<(id: string) => string> {
  const firsts = new Map<string, { readonly id: string; readonly minima: Float64Array }>();
  const parents = new Map<string, string>();
  const groupOf = (id: string): string => {
    let root = id;
    for (let next = parents.get(root); next !== undefined; next = parents.get(root)) root = next;
    return root;
  };
  for await (const { id, text } of corpus.passages(accept)) {
    const minima = minimaOf(text);
    for (let start = 0; start < minima.length; start += MINIMA_OF_BAND) {
      const band = [start, ...minima.subarray(start, start + MINIMA_OF_BAND)].join(" ");
      const first = firsts.get(band);
      if (!first) firsts.set(band, { id, minima });
      else if (groupOf(first.id) !== groupOf(id) && areCopies(first.minima, minima))
        parents.set(groupOf(id), groupOf(first.id));
    }
  }
  return groupOf;
}

/** The smallest hash of the trigrams for each hash function; none for a text without words. */
function minimaOf(text: string): Float64Array {
  const words = wordsOf(text).map(({ key }) => hashOf(key));
  if (words.length === 0) return new Float64Array();
  const minima = new Float64Array(MINIMA).fill(Infinity);
  for (let first = 0; first < Math.max(1, words.length - SHINGLE + 1); first++) {
    let shingle = 0;
    for (const word of words.slice(first, first + SHINGLE)) shingle = extended(shingle, word);
    for (let i = 0; i < MINIMA; i++) minima[i] = Math.min(minima[i]!, extended(shingle, i));
  }
  return minima;
}

const areCopies = (a: Float64Array, b: Float64Array): boolean =>
  a.filter((minimum, i) => minimum === b[i]).length >= MIN_RESEMBLANCE * MINIMA;
