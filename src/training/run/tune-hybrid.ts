/** Tunes hybrid search for a model that is measured during a run. */

import type { HybridWeights } from "../../model/config.ts";
import type { ReAtt } from "../../reatt.ts";
import { type Bm25, DEFAULT_PARAMETERS } from "../../retrieval/bm25/bm25.ts";
import { type LexicalIndex, withParameters } from "../../retrieval/bm25/lexical-index.ts";
import {
  combineScores,
  type HybridScores,
  hybridScores,
  MIN_CANDIDATES,
  robustLambda,
} from "../../retrieval/hybrid.ts";
import type { SearchHit, TokenIndex } from "../../retrieval/search/token-index.ts";

/** Hybrid search with the weights that fit the measured model. */
export interface TunedHybrid {
  readonly weights: HybridWeights;
  /** For each question, the passages of the hybrid search, best first. */
  readonly rankings: readonly (readonly SearchHit[])[];
}

export interface TuningQuestions {
  readonly texts: readonly string[];
  /** For each question, the relevant ones of some passages. */
  relevantAmong(question: number, passages: readonly HybridScores[]): Promise<ReadonlySet<string>>;
}

/**
 * Searches as `hybridSearch` does and chooses lambda by the mean reciprocal rank (`robustLambda`),
 * near the one that the model stores, if any. k1 and b are those of the model, or BM25's defaults:
 * too few questions are measured to choose them too.
 */
export async function tuneHybrid(
  model: ReAtt,
  index: TokenIndex,
  lexical: LexicalIndex,
  { texts, relevantAmong }: TuningQuestions,
  signal?: AbortSignal,
): Promise<TunedHybrid> {
  const search = { topK: MIN_CANDIDATES, signal };
  const { k1, b } = model.config.hybrid ?? DEFAULT_PARAMETERS;
  const scored = withParameters(lexical, { k1, b });
  const vectors = await model.encodeQuestions(texts, { signal });
  const dense = await index.searchBatch(vectors, search);
  const questions: { union: HybridScores[]; relevant: ReadonlySet<string> }[] = [];
  for (const [i, text] of texts.entries()) {
    const lists = { lexical: scored.search(text, { topK: MIN_CANDIDATES }), dense: dense[i]! };
    const union = await hybridScores(index, scored, { text, vectors: vectors[i]! }, lists);
    questions.push({ union, relevant: await relevantAmong(i, union) });
  }
  const lambda = robustLambda(
    questions,
    (ranking, { relevant }) => reciprocalRank(ranking, (id) => relevant.has(id)),
    model.config.hybrid?.lambda,
  );
  return {
    weights: { lambda, k1, b },
    rankings: questions.map(({ union }) => combineScores(union, lambda)),
  };
}

/** 1 / rank of the first relevant passage; 0 if there is none. */
export function reciprocalRank(
  ranking: readonly { readonly id: string }[],
  isRelevant: (id: string) => boolean,
): number {
  const rank = ranking.findIndex(({ id }) => isRelevant(id));
  return rank === -1 ? 0 : 1 / (rank + 1);
}

/**
 * BM25 over passages, as the lexical index of a token index of the same passages. It has no
 * filter.
 *
 * @param ids of all passages, in the order of the token index
 */
export function lexicalIndexOver(bm25: Bm25, ids: readonly string[]): LexicalIndex {
  const ordinals = new Map(ids.map((id, ordinal) => [id, ordinal]));
  return {
    search: (question, { topK, k1, b }) =>
      bm25
        .search(question, topK, { k1, b })
        .map(({ id, score }) => ({ id, ordinal: ordinals.get(id)!, score })),
    score: (question, some, given) => bm25.score(question, some, given),
  };
}
