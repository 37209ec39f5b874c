/** Tunes hybrid search for a model that is measured during a run. */

import type { HybridWeights } from "../../model/config.ts";
import type { ReAtt } from "../../reatt.ts";
import { type Bm25, DEFAULT_PARAMETERS } from "../../retrieval/bm25/bm25.ts";
import {
  combineScores,
  type HybridScores,
  hybridScores,
  MIN_CANDIDATES,
  robustLambda,
} from "../../retrieval/hybrid.ts";
import type { Ranking } from "../../retrieval/scoring/top-k.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";

/** Hybrid search with the weights that fit the measured model. */
export interface TunedHybrid {
  readonly weights: HybridWeights;
  /** For each question, the ids of the passages of the hybrid search, best first. */
  readonly rankings: readonly (readonly string[])[];
}

export interface TuningQuestions {
  readonly texts: readonly string[];
  /** For each question, the ids of the relevant passages, as far as some ordinals have them. */
  relevantAmong(question: number, ordinals: Uint32Array): Promise<ReadonlySet<string>>;
}

/**
 * Searches as `hybridSearch` does and chooses lambda by the mean reciprocal rank (`robustLambda`),
 * near the one that the model stores, if any. k1 and b are those of the model, or BM25's defaults:
 * too few questions are measured to choose them too.
 *
 * @param bm25 over the passages of the index, by the same ordinals
 */
export async function tuneHybrid(
  model: ReAtt,
  index: TokenIndex,
  bm25: Bm25,
  { texts, relevantAmong }: TuningQuestions,
  signal?: AbortSignal,
): Promise<TunedHybrid> {
  const { k1, b } = model.config.hybrid ?? DEFAULT_PARAMETERS;
  const vectors = await model.encodeQuestions(texts, { signal });
  const dense = await index.rankings(vectors, { topK: MIN_CANDIDATES, signal });
  const questions: { union: HybridScores; relevant: ReadonlySet<string> }[] = [];
  for (const [i, text] of texts.entries()) {
    const lists = { lexical: bm25.rank(text, MIN_CANDIDATES, { k1, b }), dense: dense[i]! };
    const question = { text, vectors: vectors[i]! };
    const union = await hybridScores(index, bm25, question, lists, { k1, b });
    questions.push({ union, relevant: await relevantAmong(i, union.ordinals) });
  }
  const lambda = robustLambda(
    questions,
    (ranking, { relevant }) => reciprocalRank(idsOf(ranking, bm25), (id) => relevant.has(id)),
    model.config.hybrid?.lambda,
  );
  return {
    weights: { lambda, k1, b },
    rankings: questions.map(({ union }) => idsOf(combineScores(union, lambda), bm25)),
  };
}

export const idsOf = ({ ordinals }: Ranking, { ids }: Pick<Bm25, "ids">): string[] =>
  Array.from(ordinals, (ordinal) => ids[ordinal]!);

/** 1 / rank of the first relevant passage; 0 if there is none. */
export function reciprocalRank(
  ranking: readonly string[],
  isRelevant: (id: string) => boolean,
): number {
  const rank = ranking.findIndex(isRelevant);
  return rank === -1 ? 0 : 1 / (rank + 1);
}
