/**
 * What REALM compares salient spans with (its table 2): random spans and uniform tokens. Both are taggers, so that
 * everything but the choice of the span is the same.
 *
 * Here as there a span is whole words; one is masked in each sentence.
 */

import { createRandom } from "../../math/random.ts";
import type { Span, Tagger } from "./spans.ts";
import { tokensOf } from "./tokens.ts";

/**
 * For each span of `tagger`, one of as many words at a random place of the same sentence: the sentences and the
 * lengths are those of the salient spans.
 */
export function randomSpans(tagger: Tagger, seed: number | string): Tagger {
  return async (sentence) => {
    const random = createRandom(seed, "random spans", sentence);
    const words = tokensOf(sentence);
    const salient = await tagger(sentence);
    return salient.flatMap((span): Span[] => {
      const length = tokensOf(sentence.slice(span.start, span.end)).length;
      if (length === 0 || length > words.length) return [];
      const first = random.integer(words.length - length + 1);
      const [from, to] = [words[first], words[first + length - 1]];
      return from && to ? [{ start: from.start, end: to.end, kind: "random span" }] : [];
    });
  };
}

/** Every word of the sentences in which `tagger` finds a span. */
export function uniformTokens(tagger: Tagger): Tagger {
  return async (sentence) => {
    if ((await tagger(sentence)).length === 0) return [];
    return tokensOf(sentence).map(({ start, end }): Span => ({ start, end, kind: "token" }));
  };
}
