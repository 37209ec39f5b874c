/**
 * A world in which retrieval can be learned from answers alone: a passage gives a name one of 24
 * words, and every name has 24 passages, one for each word.
 */

import { createRandom } from "../../src/math/random.ts";
import type { Passage } from "../../src/text/passage.ts";
import { loadTokenizer } from "../../src/text/tokens/tokenizer.ts";
import { TOKENIZER } from "./training.ts";

/** Rows of the embedding: as many as the tokens of the prompts need. */
export const VOCABULARY = 2_700;
const COUNT = 24;

/** The title of a passage is a name. */
export async function smallWorld(): Promise<{ names: string[]; passages: Passage[] }> {
  const words = await drawWords(2 * COUNT);
  const names = words.slice(0, COUNT);
  const passages = names.flatMap((title) =>
    words.slice(COUNT).map((text): Passage => ({ id: `${title} ${text}`, title, text })),
  );
  return { names, passages };
}

/** Words of one token each: the same, however many. */
export async function drawWords(count: number): Promise<string[]> {
  const tokenizer = await loadTokenizer(TOKENIZER);
  const words: string[] = [];
  for (let id = 600; id < VOCABULARY; id++) {
    const word = tokenizer.decode([id]);
    if (/^[A-Za-z]{4,}$/.test(word) && tokenizer.encode(word).join() === `${id}`) words.push(word);
  }
  return createRandom("words").shuffle(words).slice(0, count);
}
