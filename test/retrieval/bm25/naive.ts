/** BM25 by its formula. */

import type { Passage } from "../../../src/text/passage.ts";
import { termsOf } from "../../../src/text/terms.ts";

/**
 * The scores of the passages that share a term with the query, by loops. N, df and avgdl are those
 * of `collection`.
 *
 * @param rareWeight of the terms that name a passage: idf * |q| * (1 / df) / max(1, sum of 1 / df)
 */
export function naiveScores(
  passages: readonly Passage[],
  query: string,
  k1: number,
  b: number,
  collection: readonly Passage[] = passages,
  rareWeight = 0,
): Map<string, number> {
  const termsOfPassage = ({ title, text }: Passage): string[] => termsOf(`${title} ${text}`);
  const documents = collection.map(termsOfPassage);
  const averageLength = documents.reduce((sum, terms) => sum + terms.length, 0) / documents.length;
  const frequency = (term: string) => documents.filter((other) => other.includes(term)).length;
  const distinct = [...new Set(termsOf(query))].filter((term) => frequency(term) > 0);
  const named = distinct.reduce((sum, term) => sum + 1 / frequency(term), 0);
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
    for (const term of distinct) {
      const tf = terms.filter((other) => other === term).length;
      const df = frequency(term);
      const idf = Math.log(1 + (documents.length - df + 0.5) / (df + 0.5));
      const share = 1 / df / Math.max(1, named);
      if (tf > 0)
        score +=
          (rareWeight * termsOf(query).length * share * idf * tf) /
          (tf + k1 * (1 - b + (b * terms.length) / averageLength));
    }
    if (score > 0) scores.set(passage.id, score);
  }
  return scores;
}
