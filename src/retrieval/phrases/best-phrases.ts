/**
 * The best phrases of a passage. With the products s and e of the token keys with both phrase
 * queries, the phrase from token i to token j has the score s_i + e_j, for i <= j.
 *
 * Source: Lee et al. 2021 (DensePhrases), sections 3.1 and 5.
 */

import type { Span } from "../../text/span.ts";
import type { TokenPlace } from "../../text/tokens/token-places.ts";

/** The longest phrase, in words divided by white space. Source: DensePhrases, section 2 (L). */
const MAX_PHRASE_WORDS = 20;

/** A phrase of a passage. */
export interface PassagePhrase {
  readonly score: number;
  /** The characters of the text. */
  readonly span: Span;
  /** The positions of the first and the last token among the token keys of the passage. */
  readonly first: number;
  readonly last: number;
}

/** The first and the last token key of a span of the text; undefined if it is no phrase. */
export function phraseTokens(
  places: readonly (TokenPlace | undefined)[],
  span: Span,
): Pick<PassagePhrase, "first" | "last"> | undefined {
  const first = places.findIndex((place) => place?.begins && place.span.start === span.start);
  const last = places.findLastIndex((place) => place?.ends && place.span.end === span.end);
  const [from, to] = [places[first], places[last]];
  if (!from || !to || last < first) return undefined;
  return to.words.last - from.words.first < MAX_PHRASE_WORDS ? { first, last } : undefined;
}

/** What a caller needs of the phrases of a passage. */
export interface PhraseRequest {
  readonly limit: number;
  /** No phrase with a lower score. */
  readonly floor: number;
  /** Of two phrases that are the same result, only the better one is returned. */
  readonly areSame: (a: Span, b: Span) => boolean;
}

/** The products of the token keys of a passage with both phrase queries: [keys] each. */
export interface PhraseProducts {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
}

export function phraseProducts(products: Float64Array): PhraseProducts {
  const keys = products.length / 2;
  return { starts: products.subarray(0, keys), ends: products.subarray(keys) };
}

/** max over i <= j of s_i + e_j over all tokens: no phrase of the passage has a higher score. */
export function phraseBound({ starts, ends }: PhraseProducts): number {
  let bound = -Infinity;
  let start = -Infinity;
  for (let j = 0; j < ends.length; j++) {
    start = Math.max(start, starts[j]!);
    bound = Math.max(bound, start + ends[j]!);
  }
  return bound;
}

/** The best phrases, best first. Of equal scores, the first and shortest phrase. */
export function bestPhrases(
  products: PhraseProducts,
  places: readonly (TokenPlace | undefined)[],
  { limit, floor, areSame }: PhraseRequest,
): PassagePhrase[] {
  const found: PassagePhrase[] = [];
  let left = [...phrasesFrom(products, places, floor)];
  while (found.length < limit && left.length > 0) {
    const best = left.reduce((a, b) => (b.score > a.score ? b : a));
    found.push(best);
    left = left.filter(({ span }) => !areSame(span, best.span));
  }
  return found;
}

/** All phrases with at least this score, by their first and then by their last token. */
function* phrasesFrom(
  { starts, ends }: PhraseProducts,
  places: readonly (TokenPlace | undefined)[],
  floor: number,
): Generator<PassagePhrase> {
  for (const [first, from] of places.entries()) {
    if (!from?.begins) continue;
    for (let last = first; last < places.length; last++) {
      const to = places[last];
      if (!to) continue;
      if (to.words.last - from.words.first >= MAX_PHRASE_WORDS) break;
      const score = starts[first]! + ends[last]!;
      if (to.ends && score >= floor)
        yield { score, first, last, span: { start: from.span.start, end: to.span.end } };
    }
  }
}
