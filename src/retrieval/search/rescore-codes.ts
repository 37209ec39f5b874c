/**
 * The exact scores of compressed passages, with few decoded keys. The codes bound the product of a
 * question token with each key, so only keys near the greatest of a passage are decoded. The scores
 * are those of rescore.ts, bit for bit.
 */

import type { CompressedStore } from "../index/format/compressed-store.ts";
import { type Ranking, ranked } from "../scoring/top-k.ts";
import { dotProduct } from "../scoring/vectors.ts";
import type { CodeScorer, Maxima } from "./code-scores.ts";
import { float32Error } from "./rescore.ts";

/** The part of a store that this reads. */
export type Codes = Pick<CompressedStore, "dimension" | "longestKey" | "codes" | "decode">;

/**
 * The `topK` best of the passages `ordinals`, ascending, for the question of the scorer, and those
 * of them that are in `also`. Another passage whose score cannot be among the best by its bounds
 * gets no exact score.
 */
export async function rescoreCodes(
  store: Codes,
  scorer: CodeScorer,
  question: Float32Array,
  ordinals: Uint32Array,
  topK: number,
  also: ReadonlySet<number> = new Set(),
): Promise<Ranking> {
  const { maxima, error } = await maximaOf(store, scorer, question, ordinals);
  const least = maxima.scores.toSorted().at(-topK) ?? -Infinity;
  // the last hit has an exact score of at least `least - error`
  const isChosen = (i: number) => maxima.scores[i]! >= least - 2 * error || also.has(ordinals[i]!);
  const chosen = [...ordinals.keys()].filter(isChosen);
  const scores = exactScoresOf(store, question, maxima, chosen);
  const all = ranked({ ordinals: Uint32Array.from(chosen, (i) => ordinals[i]!), scores });
  const isFound = (_: number, rank: number) => rank < topK || also.has(all.ordinals[rank]!);
  return { ordinals: all.ordinals.filter(isFound), scores: all.scores.filter(isFound) };
}

/** The exact scores of the passages `ordinals`, ascending, for the question of the scorer. */
export async function exactCodeScores(
  store: Codes,
  scorer: CodeScorer,
  question: Float32Array,
  ordinals: Uint32Array,
): Promise<Float64Array> {
  const { maxima } = await maximaOf(store, scorer, question, ordinals);
  return exactScoresOf(store, question, maxima, [...ordinals.keys()]);
}

/** The keys that can be the best, and a bound on the error of the scores. */
export async function maximaOf(
  store: Codes,
  scorer: CodeScorer,
  question: Float32Array,
  ordinals: Uint32Array,
): Promise<{ maxima: Maxima; error: number }> {
  const ranges = await store.codes(ordinals, (bytes) => scorer.allocate(ordinals.length, bytes));
  // a decoded key is rounded to float32
  const rounding = 2 * largestFloat32Error(question, store);
  return { maxima: scorer.maxima(ranges, rounding), error: scorer.error + rounding };
}

/** The exact scores of the passages at these places. */
export function exactScoresOf(
  { dimension, decode }: Codes,
  question: Float32Array,
  maxima: Maxima,
  places: readonly number[],
): Float64Array {
  const found: { place: number; firstToken: number; tokens: number }[] = [];
  const codes: Uint8Array[] = [];
  for (const [place, passage] of places.entries())
    maxima.forEach(passage, (code, firstToken, tokens) => {
      found.push({ place, firstToken, tokens });
      codes.push(code);
    });
  const keys = decode(Buffer.concat(codes));
  const questionTokens = question.length / dimension;
  const best = new Float64Array(places.length * questionTokens).fill(-Infinity);
  for (const [i, { place, firstToken, tokens }] of found.entries())
    for (let token = firstToken, bits = tokens; bits > 0; token++, bits >>>= 1)
      if (bits & 1) {
        const product = dotProduct(question, token * dimension, keys, i * dimension, dimension);
        const at = place * questionTokens + token;
        if (product > best[at]!) best[at] = product;
      }
  return Float64Array.from(places, (_, place) => {
    let sum = 0;
    for (let token = 0; token < questionTokens; token++)
      sum += best[place * questionTokens + token]!;
    return sum / questionTokens;
  });
}

/** The greatest bound of a token of the question: see `float32Error`. */
function largestFloat32Error(question: Float32Array, store: Codes): number {
  const { dimension } = store;
  let largest = 0;
  for (let at = 0; at < question.length; at += dimension)
    largest = Math.max(largest, float32Error(question.subarray(at, at + dimension), store));
  return largest;
}
