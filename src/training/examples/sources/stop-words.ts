/**
 * The stop words of a corpus, found without a list for its language: the short words among those
 * that make up 40 % of its running text. Frequent words are short in all languages (Zipf 1935, "The
 * Psycho-Biology of Language"), while a frequent long word is what the corpus is about.
 */

import type { Passages } from "../example.ts";
import { isDrawn } from "./sampling.ts";
import { wordsOf } from "./words.ts";

/** The share of English text that its 50 to 100 most frequent words make up. */
const SHARE_OF_TEXT = 0.4;
/** In UTF-16 code units: "which", "their", "nicht". */
const MAX_LENGTH = 5;
/** Passages whose words are counted. */
const SAMPLED_PASSAGES = 2_000;
/** A rarer word is no stop word, which counts in a corpus of few passages. */
const MIN_COUNT = 3;

export async function stopWordsOf(corpus: Passages, seed: number): Promise<Set<string>> {
  const counts = new Map<string, number>();
  let total = 0;
  const share = SAMPLED_PASSAGES / corpus.size;
  for await (const passage of corpus.passages(isDrawn(seed, "stop words", share)))
    for (const { key } of wordsOf(passage.text)) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      total++;
    }
  const stopWords = new Set<string>();
  let covered = 0;
  const byCount = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  for (const [word, count] of byCount) {
    if (covered >= SHARE_OF_TEXT * total || count < MIN_COUNT) break;
    covered += count;
    if (word.length <= MAX_LENGTH) stopWords.add(word);
  }
  return stopWords;
}
