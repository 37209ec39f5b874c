/** Examples of the sentences of sampled passages: one way through a corpus for several sources. */

import { createRandom, type Random } from "../../../math/random.ts";
import type { Passage } from "../../../text/passage.ts";
import type { Extent } from "../../../text/sentences.ts";
import type { Example, Passages } from "../example.ts";
import { proseOf } from "./prose.ts";
import { isDrawn, type Sample, samplingOf } from "./sampling.ts";
import { unitsOf } from "./units.ts";

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
  const isWorth = await proseOf(corpus);
  for await (const passage of corpus.passages(isDrawn(seed, names.passages, share))) {
    const { id, text } = passage;
    const random = createRandom(seed, names.examples, id);
    const units = unitsOf(text).filter(({ start, end }) => isWorth(text.slice(start, end)));
    let count = 0;
    for (const unit of random.shuffle(units)) {
      const example = make(passage, unit, random);
      if (!example) continue;
      yield example;
      if (++count === perPassage) break;
    }
  }
}
