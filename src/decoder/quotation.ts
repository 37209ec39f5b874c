/**
 * Quotations: an extractive answer is a place in a passage, not only a sequence of tokens. The
 * decoder writes tokens; each token leaves the places where it continues what is written. So a
 * group that repeats (`1,000,000`) is no repetition: it is the next token at its place.
 *
 * The places that are left in the end have the same tokens. The answer is the one that the decoder
 * attended to: with the attention A_t of step t (mean over heads, as it copies), the place from
 * token i of the passage has the weight
 *
 *     sum over steps t of log A_t(i + t)
 *
 * Related work: De Cao et al. 2021 (GENRE) restrict beam search to a set of names; See et al. 2017
 * copy by attention (copying.ts), whose sums over equal tokens cannot tell places apart.
 */

import { COPY_EPSILON } from "./copying.ts";

/** What a quotation needs to know of a token of a passage. */
export interface QuotableToken {
  /** A quotation stays in one part: the title, a cell of a table, or another part of the text. */
  readonly part: number;
  /** Whether a quotation can begin with the token, and end with it. */
  readonly begins: boolean;
  readonly ends: boolean;
}

/** A passage whose tokens can be quoted. */
export interface QuotablePassage {
  readonly ids: readonly number[];
  /** For each token; undefined for one that is no part of the passage, such as `</s>`. */
  readonly tokens: readonly (QuotableToken | undefined)[];
  /** Where its first token is in the attention of the decoder. */
  readonly offset: number;
}

/** A sequence of tokens of a passage. */
export interface Place {
  /** The position of the passage among those that are read. */
  readonly passage: number;
  /** The positions [first, end) of its tokens. */
  readonly first: number;
  readonly end: number;
  /** A natural logarithm; comparable between places of one answer. */
  readonly weight: number;
}

/** The places that the tokens written so far can have. */
export interface Quotation {
  /** The tokens that can follow; `</s>` where a quotation can end, or where nothing can follow. */
  followers(): ReadonlySet<number>;
  /** @param attention of the step that wrote the token, over the tokens of all passages */
  write(token: number, attention: Float32Array): void;
  /** In the order of the passages; none before the first token. */
  places(): readonly Place[];
}

/**
 * Begins a quotation.
 *
 * @example
 * const passages = [{ ids: [7, 8, 9, 1], tokens: [token, token, token, undefined], offset: 0 }];
 * const quotation = startQuotation(passages, 1);
 * quotation.followers(); // Set { 7, 8, 9 }
 */
export function startQuotation(passages: readonly QuotablePassage[], endId: number): Quotation {
  let length = 0;
  let left = passages.flatMap(({ tokens }, passage) =>
    tokens.flatMap((token, first) => (token?.begins ? [{ passage, first, weight: 0 }] : [])),
  );
  const tokenAt = (passage: number, at: number) => passages[passage]!.tokens[at];
  const canEnd = ({ passage, first }: { passage: number; first: number }): boolean =>
    length > 0 && tokenAt(passage, first + length - 1)!.ends;
  /** The token at the place that follows what is written; undefined behind the part. */
  const next = ({ passage, first }: { passage: number; first: number }): number | undefined => {
    const token = tokenAt(passage, first + length);
    const isSamePart = token?.part === tokenAt(passage, first)!.part;
    return isSamePart ? passages[passage]!.ids[first + length] : undefined;
  };
  return {
    followers() {
      const tokens = new Set<number>();
      for (const place of left) {
        const token = next(place);
        if (token !== undefined) tokens.add(token);
      }
      if (tokens.size === 0 || left.some(canEnd)) tokens.add(endId);
      return tokens;
    },
    write(token, attention) {
      if (token === endId) {
        if (left.some(canEnd)) left = left.filter(canEnd);
        return;
      }
      left = left
        .filter((place) => next(place) === token)
        .map(({ passage, first, weight }) => {
          const share = attention[passages[passage]!.offset + first + length]!;
          return { passage, first, weight: weight + Math.log(share + COPY_EPSILON) };
        });
      length++;
    },
    places: () =>
      length === 0 ? [] : left.map((place) => ({ ...place, end: place.first + length })),
  };
}

/** The place of greatest weight, the first of equals. */
export const bestPlace = (places: readonly Place[]): Place | undefined =>
  places.reduce<Place | undefined>(
    (best, place) => (best && best.weight >= place.weight ? best : place),
    undefined,
  );
