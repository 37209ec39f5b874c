/** Examples of the units of sampled passages: one way through a corpus for several sources. */

import { createRandom, type Random } from "../../../math/random.ts";
import type { Passage } from "../../../text/passage.ts";
import type { Extent } from "../../salient-spans/index.ts";
import type { LabelFreeExample, Passages } from "./example.ts";
import { isDrawn, type Sample, samplingOf } from "./sampling.ts";
import { unitsOf } from "./units.ts";

/** Names of the random numbers of a source. */
interface RandomNames {
  readonly passages: string;
  readonly examples: string;
}

/**
 * About `wanted` examples: 1 to 5 of each passage, or one of each passage of a sample, from units
 * in random order.
 *
 * @param make the example of a unit, if it has one
 */
export async function* examplesOfUnits(
  corpus: Passages,
  { wanted, seed }: Sample,
  names: RandomNames,
  make: (passage: Passage, unit: Extent, random: Random) => LabelFreeExample | undefined,
): AsyncGenerator<LabelFreeExample, void> {
  const { perPassage, share } = samplingOf(corpus, wanted);
  for await (const passage of corpus.passages(isDrawn(seed, names.passages, share))) {
    const random = createRandom(seed, names.examples, passage.id);
    let made = 0;
    for (const unit of random.shuffle(unitsOf(passage.text))) {
      const example = make(passage, unit, random);
      if (!example) continue;
      yield example;
      if (++made === perPassage) break;
    }
  }
}
