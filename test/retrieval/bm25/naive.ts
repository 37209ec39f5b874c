/** BM25 by its formula. */

import type { Passage } from "../../../src/text/passage.ts";
import { termsOf } from "../../../src/text/terms.ts";

/**
 * The scores of the passages that share a term with the query, by loops. N, df and avgdl are those
 * of `collection`.
 */
export function naiveScores(
  passages: readonly Passage[],
  query: string,
  k1: number,
  b: number,
  collection: readonly Passage[] = passages,
): Map<string, number> {
  const termsOfPassage = ({ title, text }: Passage): string[] => termsOf(`${title} ${text}`);
  const documents = collection.map(termsOfPassage);
  const averageLength = documents.reduce((sum, terms) => sum + terms.length, 0) / documents.length;
  const scores = new Map<string, number>();
  for (const passage of passages) {
    const terms = termsOfPassage(passage);
    let score = 0;
    for (const term of termsOf(query)) {
      const tf = terms.filter((other) => other === term).length;
      const df = documents.filter((other) => other.includes(term)).length;
      const idf = Math.log(1 + (documents.length - df + 0.5) / (df + 0.5));
      if (tf > 0) score += (idf * tf) / (tf + k1 * (1 - b + (b * terms.length) / averageLength));
    }
    if (score > 0) scores.set(passage.id, score);
  }
  return scores;
}
