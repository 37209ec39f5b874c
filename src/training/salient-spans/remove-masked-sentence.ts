/**
 * Removes a masked sentence from the candidates of its own example: otherwise the answer is copied,
 * and retrieval learns to match strings.
 *
 * Source: REALM (Guu et al. 2020), section 3.4, "Prohibiting trivial retrievals". REALM excludes
 * the source passage; to remove only the sentence and its near copies is this project's choice.
 */

import type { Passage } from "../../text/passage.ts";
import { MIN_SENTENCE_WORDS, removeCopies } from "./copies.ts";
import { type MaskedSentence, unmasked } from "./masked-sentences.ts";
import { tokensOf } from "./tokens.ts";

/** How the source passage takes part: without the sentence, or not at all (REALM). */
export type SourcePassage = "without-sentence" | "excluded";

/**
 * Returns `passage` without the masked sentence and its near copies, in title and text. Returns the
 * same object if there are none, and undefined if the passage is excluded or if fewer than 5 words
 * are left of its text.
 */
export function removeMaskedSentence(
  example: MaskedSentence,
  passage: Passage,
  source: SourcePassage = "without-sentence",
): Passage | undefined {
  if (source === "excluded" && passage.id === example.passageId) return undefined;
  const masked = { sentence: unmasked(example), entity: example.entity };
  const title = removeCopies(masked, passage.title);
  const text = removeCopies(masked, passage.text);
  if (title === passage.title && text === passage.text) return passage;
  return tokensOf(text).length < MIN_SENTENCE_WORDS ? undefined : { id: passage.id, title, text };
}
