/**
 * No trivial retrieval: the masked sentence must not be readable in any passage of its own example.
 *
 * Source: REALM, section 3.4, "Prohibiting trivial retrievals".
 */

import type { Passage } from "../../text/passage.ts";
import { MIN_WORDS, removeCopies } from "./copies.ts";
import { type SentenceWithMask, unmasked } from "./masked-sentences.ts";
import { tokensOf } from "./tokens.ts";

/** How the passage that the sentence is from takes part: without it (ReAtt), or not at all (REALM). */
export type SourcePassage = "without-sentence" | "excluded";

/**
 * `passage` as the example of the masked sentence may read it: without the sentence and its near copies, title
 * included. The very same passage when there are none; undefined when it must be left out, or when fewer than 5 words
 * would be left of its text.
 */
export function removeMaskedSentence(
  example: SentenceWithMask,
  passage: Passage,
  source: SourcePassage = "without-sentence",
): Passage | undefined {
  if (source === "excluded" && passage.id === example.passageId) return undefined;
  const masked = { sentence: unmasked(example), entity: example.entity };
  const title = removeCopies(masked, passage.title);
  const text = removeCopies(masked, passage.text);
  if (title === passage.title && text === passage.text) return passage;
  return tokensOf(text).length < MIN_WORDS ? undefined : { id: passage.id, title, text };
}
