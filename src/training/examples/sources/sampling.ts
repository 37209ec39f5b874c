/** Which passages examples are drawn from. Seed and id decide, whatever the order of the corpus. */

import { createRandom } from "../../../math/random.ts";

/** The authors' experiments used 1 to 5 sentences of a passage. */
export const MAX_PER_PASSAGE = 5;

export interface Sample {
  /** Approximate number of examples. */
  readonly wanted: number;
  readonly seed: number;
}

/** Examples of a passage, the share of the passages to draw, and about how many these are. */
export function samplingOf(
  { size }: { readonly size: number },
  wanted: number,
): { perPassage: number; share: number; passages: number } {
  const perPassage = Math.max(1, Math.min(MAX_PER_PASSAGE, Math.ceil(wanted / size)));
  const share = wanted / (size * perPassage);
  return { perPassage, share, passages: Math.round(Math.min(1, share) * size) };
}

/** Whether `id` is drawn. @param name of the draw */
export const isDrawn =
  (seed: number, name: string, share: number) =>
  (id: string): boolean =>
    share >= 1 || createRandom(seed, name, id).next() < share;
