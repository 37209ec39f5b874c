/**
 * Hybrid search: lexical and dense retrieval together. The union of the best passages of both is
 * ranked by
 *
 *     BM25(q, p) / |q| + lambda * f(p, q)
 *
 * where |q| is the number of index terms of the question (text/terms.ts), and f the retrieval
 * score (search/rescore.ts). A development set chooses lambda (evaluation/tune-lambda.ts). A mean
 * hides what names a passage: a number that one passage has is one of many terms, and the model
 * does not tell it from others. So BM25 has a further weight for rare terms here (`termWeights` of
 * bm25/bm25.ts), and completes words that no passage has (bm25/substitutes.ts).
 *
 * Source: Karpukhin et al. 2020, Dense Passage Retrieval, section 5, without |q| and rare terms.
 * Both scores are means here, so one lambda serves short and long questions
 * (docs/experiments/hybrid-search.md).
 */

import { InputError } from "../io/errors.ts";
import type { HybridWeights } from "../model/config.ts";
import type { Given } from "../options/option.ts";
import type { HYBRID_OPTIONS } from "../options/search-request.ts";
import type { GivenParameters, ScoreParameters } from "./bm25/bm25.ts";
import { cachedLexicalIndex, type LexicalIndex } from "./lexical-index.ts";
import { type Ranking, ranked } from "./scoring/top-k.ts";
import type { IndexGeneration, RankingRequest } from "./search/generation.ts";
import type { WordSearch } from "./search/word-search.ts";

/** The least number of passages that each search contributes. DPR uses 2,000 of 21 million. */
export const MIN_CANDIDATES = 100;

/** The weight of rare terms (docs/experiments/hybrid-search.md). */
const RARE_WEIGHT = 0.5;

/** The parameters of BM25 in hybrid search. */
export const hybridParameters = ({ k1, b }: GivenParameters = {}): ScoreParameters => ({
  k1,
  b,
  rareWeight: RARE_WEIGHT,
  completes: true,
});

/** Passages that a first search by the model looks for, for each result. */
const FEW_HITS = 2;

/** A question in both forms. */
export interface EncodedQuestion {
  readonly text: string;
  /** [tokens, dimension] */
  readonly vectors: Float32Array;
}

/**
 * Ranks by `BM25 / terms of the question + lambda * retrieval score`; rare terms count more than
 * the mean. Without `lexical`, BM25
 * reads the words that the token index holds; without them, it is built on first use and cached.
 * Default of `k1` and `b`: those of `lexical`.
 */
export interface HybridOptions extends Given<typeof HYBRID_OPTIONS> {
  /**
   * A BM25 index of the same generation of the index, from `openLexicalIndex`. Default: the words
   * that the index holds, or else a BM25 index that the open index keeps.
   */
  readonly lexical?: LexicalIndex | undefined;
}

/**
 * The hybrid search that a caller asks for. `true` means the weights that the model stores, an
 * object gives weights, `false` means the retrieval score alone. Default: stored weights, if any.
 *
 * @param stored the weights in the configuration of the model
 * @param folder the folder of the model, for the message
 * @throws {InputError} for `true` if the model stores no weights
 */
export function chooseHybrid(
  choice: boolean | HybridOptions | undefined,
  stored: HybridWeights | undefined,
  folder: string,
): HybridOptions | undefined {
  if (typeof choice === "object") return choice;
  if (choice === false) return undefined;
  if (stored || choice === undefined) return stored;
  throw new InputError({
    where: `${folder}: hybrid search`,
    expected: "weights in config.json (hybrid; of a T5, retrieval_hybrid)",
    got: "none",
    remedy: "reatt adapt stores them; or give the lambda that reatt benchmark --tune finds",
  });
}

/** The passages of two searches with both scores. */
export interface HybridScores {
  /** The positions of the passages in the index. */
  readonly ordinals: Uint32Array;
  /** The BM25 score of each passage, with rare terms, divided by the terms of the question. */
  readonly lexical: Float64Array;
  /** The retrieval score of each passage. */
  readonly dense: Float64Array;
}

/**
 * Returns for each question the `topK` best passages of the union of both searches. Each search
 * contributes its 100 best passages, or its `topK` best if that is more.
 *
 * An engine that chooses candidates looks for few passages first. What it leaves out has no higher
 * retrieval score than the last that it finds, and no higher lexical score than the last of BM25.
 * Only where such a passage can be in the result, it looks for all. A question has the same result
 * alone as in a batch.
 */
export async function hybridSearch(
  index: IndexGeneration,
  { lambda, lexical, k1, b }: HybridOptions,
  questions: readonly EncodedQuestion[],
  { topK, accept, signal }: RankingRequest,
): Promise<Ranking[]> {
  const words = await wordsOf(index, lexical, signal);
  const depth = Math.max(MIN_CANDIDATES, topK);
  const lists: Ranking[] = [];
  const parameters = hybridParameters({ k1, b });
  for (const { text } of questions)
    lists.push(await words.rank(text, depth, { accept, ...parameters }));
  const found: Ranking[] = [];
  let open = [...questions.keys()];
  const few = index.findsFewFaster ? Math.min(depth, FEW_HITS * topK) : depth;
  for (const hits of new Set([few, depth])) {
    if (open.length === 0) break;
    const denseLists = await index.rankingsAlso(
      open.map((i) => questions[i]!.vectors),
      open.map((i) => lists[i]!.ordinals),
      { topK: hits, accept, signal },
    );
    const undecided: number[] = [];
    for (const [place, i] of open.entries()) {
      const [question, lexical, dense] = [questions[i]!, lists[i]!, denseLists[place]!];
      const union = await hybridScores(index, words, question, { lexical, dense }, { k1, b });
      found[i] = combineScores(union, lambda, topK);
      const lastLexical = (lexical.scores[depth - 1] ?? 0) / termCount(words, question);
      const leftOut = lastLexical + lambda * (dense.scores[hits - 1] ?? -Infinity);
      if (leftOut >= (found[i].scores[topK - 1] ?? -Infinity)) undecided.push(i);
      signal?.throwIfAborted();
    }
    open = undecided;
  }
  return found;
}

/** The words of an index: those of `lexical`, those that it holds, or else of its texts. */
export const wordsOf = async (
  index: IndexGeneration,
  lexical?: LexicalIndex,
  signal?: AbortSignal,
): Promise<WordSearch> =>
  lexical?.bm25 ?? (await index.words()) ?? (await cachedLexicalIndex(index, signal)).bm25;

/** The number of index terms of a question, |q|. */
const termCount = ({ analyser }: Pick<WordSearch, "analyser">, { text }: EncodedQuestion): number =>
  Math.max(1, analyser.terms(text).length);

/**
 * Joins the results of two searches for a question. Both scores of each passage are exact: the
 * score that a search did not return is computed.
 *
 * @param lists lexical: with `hybridParameters`
 */
export async function hybridScores(
  index: Pick<IndexGeneration, "scores">,
  words: Pick<WordSearch, "score" | "analyser">,
  question: EncodedQuestion,
  lists: { readonly lexical: Ranking; readonly dense: Ranking },
  parameters?: GivenParameters,
): Promise<HybridScores> {
  const { text, vectors } = question;
  const { lexical, dense } = lists;
  const onlyLexical = difference(lexical.ordinals, dense.ordinals);
  const onlyDense = difference(dense.ordinals, lexical.ordinals);
  const otherDense = onlyLexical.length > 0 ? await index.scores(vectors, onlyLexical) : [];
  const otherLexical = await words.score(text, onlyDense, hybridParameters(parameters));
  const known = new Map<number, number>();
  for (const [i, ordinal] of dense.ordinals.entries()) known.set(ordinal, dense.scores[i]!);
  for (const [i, ordinal] of onlyLexical.entries()) known.set(ordinal, otherDense[i]!);
  const ordinals = new Uint32Array(lexical.ordinals.length + onlyDense.length);
  ordinals.set(lexical.ordinals);
  ordinals.set(onlyDense, lexical.ordinals.length);
  const wordScores = new Float64Array(ordinals.length);
  wordScores.set(lexical.scores);
  wordScores.set(otherLexical, lexical.scores.length);
  const terms = termCount(words, question);
  return {
    ordinals,
    lexical: wordScores.map((score) => score / terms),
    dense: Float64Array.from(ordinals, (ordinal) => known.get(ordinal)!),
  };
}

/** The values of `all` that are not in `others`. */
function difference(all: Uint32Array, others: Uint32Array): Uint32Array {
  const known = new Set(others);
  return all.filter((value) => !known.has(value));
}

/**
 * Ranks passages by `lexical + lambda * dense`, best first; equal scores in the order of the
 * index. The `most` best, or all.
 */
export const combineScores = (
  { ordinals, lexical, dense }: HybridScores,
  lambda: number,
  most?: number,
): Ranking =>
  ranked({ ordinals, scores: lexical.map((score, i) => score + lambda * dense[i]!) }, most);
