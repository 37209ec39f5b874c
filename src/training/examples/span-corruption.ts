/**
 * Span corruption: the unsupervised objective of T5.
 *
 *     Thank you for inviting me to your party last week.
 *     inputs   Thank you <extra_id_0> me to your party <extra_id_1> week.
 *     targets  <extra_id_0> for inviting <extra_id_1> last <extra_id_2>
 *
 * Source: Raffel et al. 2020, section 3.1.4 and figure 2; 15 % of the tokens in spans of 3, section
 * 3.3.4.
 */

import type { Random } from "../../math/random.ts";

const NOISE_DENSITY = 0.15;
const MEAN_SPAN_LENGTH = 3;

/** Tokens from `start` to `end`, which is exclusive. */
export interface TokenSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * Draws the spans to drop from a text of `length` tokens (at least 1). No two spans touch, so each
 * has its own sentinel. All layouts with this number of spans and of dropped tokens are equally
 * likely.
 */
export function noiseSpans(length: number, maxSpans: number, random: Random): TokenSpan[] {
  const noise = Math.max(1, Math.round(length * NOISE_DENSITY));
  const count = Math.min(maxSpans, Math.max(1, Math.round(noise / MEAN_SPAN_LENGTH)));
  const lengths = randomParts(noise, count, random);
  // The first and the last gap may be empty; parts may not, so both are one longer than the gap.
  const gaps = randomParts(length - noise + 2, count + 1, random);
  let end = -1;
  return lengths.map((size, i) => {
    const start = end + gaps[i]!;
    end = start + size;
    return { start, end };
  });
}

/**
 * Returns `ids` with each span replaced by a sentinel, and the targets: each span after its
 * sentinel, then one more sentinel.
 */
export function corrupt(
  ids: readonly number[],
  spans: readonly TokenSpan[],
  sentinels: readonly number[],
): { inputs: number[]; targets: number[] } {
  const kept = spans.flatMap(({ start }, i) => [
    ...ids.slice(spans[i - 1]?.end ?? 0, start),
    sentinels[i]!,
  ]);
  const dropped = spans.flatMap(({ start, end }, i) => [sentinels[i]!, ...ids.slice(start, end)]);
  return {
    inputs: [...kept, ...ids.slice(spans.at(-1)?.end ?? 0)],
    targets: [...dropped, sentinels[spans.length]!],
  };
}

/** Divides `total` into `parts` positive integers. All such divisions are equally likely. */
function randomParts(total: number, parts: number, random: Random): number[] {
  const places = random.shuffle(Array.from({ length: total - 1 }, (_, i) => i + 1));
  const ends = [...places.slice(0, parts - 1).sort((a, b) => a - b), total];
  return ends.map((end, i) => end - (ends[i - 1] ?? 0));
}
