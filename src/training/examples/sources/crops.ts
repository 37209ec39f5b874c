/**
 * Crops: a sentence is the query, and its passage is relevant. In nine of ten cases the sentence is
 * removed from the passage, so that retrieval learns more than equal words.
 *
 * Source: Lee et al. 2019, "Latent Retrieval for Weakly Supervised Open Domain Question Answering",
 * section 4 (inverse cloze task). Windows of words where a text has no sentence ends are ours.
 */

import { createRandom, type Random } from "../../../math/random.ts";
import type { Passage } from "../../../text/passage.ts";
import type { Extent } from "../../../text/sentences.ts";
import { type Example, readAs } from "../example.ts";
import { proseOf } from "./prose.ts";
import { isDrawn, samplingOf, unitsOf } from "./sampling.ts";
import { defineSource, type Source } from "./source.ts";

/** Share of the examples whose sentence is removed from its passage; section 9.2 of the source. */
const REMOVED_SHARE = 0.9;

/**
 * About `wanted` crops: 1 to 5 of each passage, or one of each passage of a sample, from its
 * sentences in random order.
 */
export const crops: Source<"crops"> = defineSource({
  name: "crops",
  relevant: "the passage of the sentence",
  stage: "making crops",
  draws: 1.25,
  suits: () => true,
  async *examples(corpus, { wanted, seed }) {
    const { perPassage, share } = samplingOf(corpus, wanted);
    const isWorth = await proseOf(corpus);
    for await (const passage of corpus.passages(isDrawn(seed, "passages to crop", share))) {
      const { id, text } = passage;
      const random = createRandom(seed, "crops", id);
      const units = unitsOf(text).filter(({ start, end }) => isWorth(text.slice(start, end)));
      let count = 0;
      for (const unit of random.shuffle(units)) {
        const example = cropOf(passage, unit, random);
        if (!example) continue;
        yield example;
        if (++count === perPassage) break;
      }
    }
  },
});

function cropOf(passage: Passage, extent: Extent, random: Random): Example | undefined {
  const isRemoved = random.next() < REMOVED_SHARE;
  const question = passage.text.slice(extent.start, extent.end);
  const removal = {
    cut: { passageId: passage.id, extent },
    copies: { sentence: question, entity: "" },
  };
  // Also if the sentence stays: a passage of one sentence would be its own query.
  if (!readAs(removal, passage)) return undefined;
  return {
    id: `${passage.id}:${extent.start}-${extent.end}`,
    question,
    answers: [],
    relevant: [passage.id],
    removal: isRemoved ? removal : {},
  };
}
