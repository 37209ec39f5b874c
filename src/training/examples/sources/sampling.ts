/** Which passages examples are drawn from. Seed and id decide, whatever the order of the corpus. */

import { createRandom } from "../../../math/random.ts";

/** The authors' experiments used 1 to 5 sentences of a passage. */
export const MAX_PER_PASSAGE = 5;

export interface Sample {
  /** Approximate number of examples. */
  readonly wanted: number;
  readonly seed: number;
}

/** Examples of a passage, and the share of the passages to draw. */
export function samplingOf(
  { size }: { readonly size: number },
  wanted: number,
): { readonly perPassage: number; readonly share: number } {
  const perPassage = Math.max(1, Math.min(MAX_PER_PASSAGE, Math.ceil(wanted / size)));
  return { perPassage, share: wanted / (size * perPassage) };
}

/** Whether `id` is drawn. @param name of the draw */
export const isDrawn =
  (seed: number, name: string, share: number) =>
  (id: string): boolean =>
    share >= 1 || createRandom(seed, name, id).next() < share;
