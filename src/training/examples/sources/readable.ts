/**
 * The part of each passage that training reads: its beginning. An example from the end of a huge
 * document would have nothing to find.
 */

import type { Passage } from "../../../text/passage.ts";
import type { Passages } from "../example.ts";

/** In UTF-16 code units. T5's tokens have about 4.5 characters of English. */
const MAX_CHARACTERS_PER_TOKEN = 6;

export const readable = (corpus: Passages, maxPassageTokens: number): Passages => ({
  size: corpus.size,
  async *passages(accept) {
    for await (const passage of corpus.passages(accept)) yield clipped(passage, maxPassageTokens);
  },
});

/** The passage with the beginning of its text. Short passages are returned as they are. */
export function clipped(passage: Passage, maxPassageTokens: number): Passage {
  const limit = MAX_CHARACTERS_PER_TOKEN * maxPassageTokens;
  if (passage.text.length <= limit) return passage;
  return { ...passage, text: passage.text.slice(0, limit) };
}
