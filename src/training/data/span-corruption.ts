/**
 * Span corruption: the unsupervised objective of T5.
 *
 *     Thank you for inviting me to your party last week.
 *     inputs   Thank you <extra_id_0> me to your party <extra_id_1> week.
 *     targets  <extra_id_0> for inviting <extra_id_1> last <extra_id_2>
 *
 * Source: Raffel et al. 2020, section 3.1.4 and figure 2; 15 % of the tokens in spans of 3, section 3.3.4.
 */

import type { Random } from "../../math/random.ts";

const NOISE_DENSITY = 0.15;
const MEAN_SPAN_LENGTH = 3;

/** Tokens from `start` up to `end`. */
export interface TokenSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * Spans of a text of `length` tokens, from 1 on, to be dropped: no two of them touch, so that each has a sentinel of its own.
 * All ways to lay spans of that number and that length in total are equally likely.
 */
export function noiseSpans(length: number, maxSpans: number, random: Random): TokenSpan[] {
  const noise = Math.max(1, Math.round(length * NOISE_DENSITY));
  const count = Math.min(maxSpans, Math.max(1, Math.round(noise / MEAN_SPAN_LENGTH)));
  const lengths = randomParts(noise, count, random);
  const gaps = randomParts(length - noise + 2, count + 1, random); // one more at either end, where there may be none
  let end = -1;
  return lengths.map((size, i) => {
    const start = end + gaps[i]!;
    end = start + size;
    return { start, end };
  });
}

/** `ids` with a sentinel for each span; and the spans, each after its sentinel, with one more sentinel as their end. */
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

/** `total` as the sum of so many whole numbers from 1 on; all such sums are equally likely. */
function randomParts(total: number, parts: number, random: Random): number[] {
  const places = random.shuffle(Array.from({ length: total - 1 }, (_, i) => i + 1));
  const ends = [...places.slice(0, parts - 1).sort((a, b) => a - b), total];
  return ends.map((end, i) => end - (ends[i - 1] ?? 0));
}
