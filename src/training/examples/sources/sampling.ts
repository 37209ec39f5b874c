/** Which passages and sentences examples are drawn from. Seed and ids decide, not their order. */

import { createRandom, type Random } from "../../../math/random.ts";
import type { Passage } from "../../../text/passage.ts";
import type { Extent } from "../../../text/sentences.ts";
import type { Example, Passages } from "../example.ts";
import { unitsOf } from "./units.ts";

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

/**
 * About `wanted` examples: 1 to 5 of each passage, or one of each passage of a sample, from its
 * sentences in random order.
 *
 * @param names of the draws of passages and of examples
 * @param make the example of a sentence, if it has one
 */
export async function* examplesOfUnits(
  corpus: Passages,
  { wanted, seed }: Sample,
  names: { readonly passages: string; readonly examples: string },
  make: (passage: Passage, unit: Extent, random: Random) => Example | undefined,
): AsyncGenerator<Example, void> {
  const { perPassage, share } = samplingOf(corpus, wanted);
  for await (const passage of corpus.passages(isDrawn(seed, names.passages, share))) {
    const random = createRandom(seed, names.examples, passage.id);
    let count = 0;
    for (const unit of random.shuffle(unitsOf(passage.text))) {
      const example = make(passage, unit, random);
      if (!example) continue;
      yield example;
      if (++count === perPassage) break;
    }
  }
}
