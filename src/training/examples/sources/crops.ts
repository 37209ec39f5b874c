/**
 * Crops: a sentence is the query, and its passage is relevant. In nine of ten cases the sentence is
 * removed from the passage, so that retrieval learns more than equal words.
 *
 * Source: Lee et al. 2019, "Latent Retrieval for Weakly Supervised Open Domain Question Answering",
 * section 4 (inverse cloze task). Windows of words where a text has no sentence ends are ours.
 */

import type { Random } from "../../../math/random.ts";
import type { Passage } from "../../../text/passage.ts";
import type { Extent } from "../../../text/sentences.ts";
import { type Example, type Passages, readAs } from "../example.ts";
import { examplesOfUnits } from "./prose.ts";
import type { Sample } from "./sampling.ts";

/** Share of the examples whose sentence is removed from its passage; section 9.2 of the source. */
const REMOVED_SHARE = 0.9;

/** About `wanted` crops: 1 to 5 of each passage, or one of each passage of a sample. */
export const crops = (corpus: Passages, sample: Sample): AsyncGenerator<Example, void> =>
  examplesOfUnits(corpus, sample, { passages: "passages to crop", examples: "crops" }, cropOf);

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
