/**
 * Masked names and dates of sentences that are not in the corpus. Those of the corpus itself are in
 * `sample-masked-sentences.ts`.
 *
 * Source: REALM (Guu et al. 2020), section 3.4.
 */

import { maskedSentences, type Tagger } from "../../salient-spans/index.ts";
import { unmasked } from "../../salient-spans/masked-sentences.ts";
import type { LabelFreeExample, Passages } from "./example.ts";
import { isDrawn, type Sample, samplingOf } from "./sampling.ts";

/** @throws {InputError} if no sentence has a name or a date */
export async function* maskedSpans(
  sentences: Passages,
  { wanted, seed }: Sample,
  tagger?: Tagger,
): AsyncGenerator<LabelFreeExample, void> {
  const { perPassage, share } = samplingOf(sentences, wanted);
  const drawn = sentences.passages(isDrawn(seed, "sentences to mask", share));
  const options = { perPassage, seed, ...(tagger && { tagger }) };
  for await (const masked of maskedSentences(drawn, options)) {
    const { question, entity, passageId, sentence } = masked;
    yield {
      id: `${passageId}:${sentence.start}-${sentence.end}`,
      question,
      answer: entity,
      evidence: entity,
      relevant: [],
      removal: { copies: { sentence: unmasked(masked), entity } },
    };
  }
}
