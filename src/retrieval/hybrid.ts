/**
 * Hybrid search: lexical and dense retrieval together. The union of the best passages of both is
 * ranked by
 *
 *     BM25(q, p) / |q| + lambda * f(p, q)
 *
 * where |q| is the number of index terms of the question (text/terms.ts), and f the retrieval
 * score (search/rescore.ts). A development set chooses lambda.
 *
 * Source: Karpukhin et al. 2020, Dense Passage Retrieval, section 5, without |q|. Both scores are
 * means here, so one lambda serves short and long questions (docs/experiments/hybrid-search.md).
 */

import { InputError } from "../io/errors.ts";
import { mean } from "../math/mean.ts";
import { standardError } from "../math/standard-error.ts";
import type { HybridWeights } from "../model/config.ts";
import type { HYBRID_OPTIONS } from "../options/library-options.ts";
import type { Given } from "../options/option.ts";
import type { GivenParameters } from "./bm25/bm25.ts";
import { cachedLexicalIndex, type LexicalIndex } from "./lexical-index.ts";
import { type Ranking, ranked } from "./scoring/top-k.ts";
import type { IndexGeneration, RankingRequest } from "./search/generation.ts";
import type { WordSearch } from "./search/word-search.ts";

/** The least number of passages that each search contributes. DPR uses 2,000 of 21 million. */
export const MIN_CANDIDATES = 100;

/** Passages that a first search by the model looks for, for each result. */
const FEW_HITS = 2;

/** A question in both forms. */
export interface EncodedQuestion {
  readonly text: string;
  /** [tokens, dimension] */
  readonly vectors: Float32Array;
}

/**
 * Ranks by `BM25 / terms of the question + lambda * retrieval score`. Without `lexical`, BM25
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
  /** The BM25 score of each passage divided by the terms of the question. */
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
  const words: WordSearch =
    lexical?.bm25 ?? (await index.words()) ?? (await cachedLexicalIndex(index, signal)).bm25;
  const depth = Math.max(MIN_CANDIDATES, topK);
  const lists: Ranking[] = [];
  for (const { text } of questions) lists.push(await words.rank(text, depth, { accept, k1, b }));
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

/** The number of index terms of a question, |q|. */
const termCount = ({ analyser }: Pick<WordSearch, "analyser">, { text }: EncodedQuestion): number =>
  Math.max(1, analyser.terms(text).length);

/**
 * Joins the results of two searches for a question. Both scores of each passage are exact: the
 * score that a search did not return is computed.
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
  const otherLexical = await words.score(text, onlyDense, parameters);
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

export interface TunedLambda {
  readonly lambda: number;
  /** The mean of the measure with this lambda. */
  readonly value: number;
  /** All values tried, ascending. */
  readonly tried: readonly { readonly lambda: number; readonly value: number }[];
}

/** A question with the passages to rank, from `hybridScores`. */
interface QuestionUnion {
  readonly union: HybridScores;
  /** Questions of one group depend on one another. Default: each is a group of its own. */
  readonly group?: number | undefined;
}

/**
 * Chooses the lambda with the highest mean of `measure` over labelled questions. If several values
 * of lambda share it, it returns the middle one.
 *
 * By default it tries 0 and 21 values from 1/32 to 32, in steps of sqrt(2). The unit is the lambda
 * with which both scores spread over equal ranges, because the scale of the retrieval score differs
 * between models. The values are rounded to three digits.
 *
 * @throws {InputError} if there are no questions
 */
export function tuneLambda<Q extends QuestionUnion>(
  questions: readonly Q[],
  measure: (ranking: Ranking, question: Q) => number,
  lambdas: readonly number[] = [0, ...gridAround(scaleMatchedLambda(questions))],
): TunedLambda {
  if (questions.length === 0) {
    const remedy = "name a development set with qrels";
    throw new InputError({
      where: "tuning of lambda",
      expected: "labelled questions",
      got: "none",
      remedy,
    });
  }
  const meanMeasure = (lambda: number) =>
    mean(questions.map((question) => measure(combineScores(question.union, lambda), question)));
  const tried = [...lambdas]
    .sort((a, b) => a - b)
    .map((lambda) => ({ lambda, value: meanMeasure(lambda) }));
  const value = Math.max(...tried.map((trial) => trial.value));
  const best = tried.filter((trial) => trial.value === value);
  return { ...best[best.length >> 1]!, tried };
}

/** Doublings by which lambda differs between collections: one standard deviation of the prior. */
const PRIOR_DOUBLINGS = 1;

/**
 * Chooses the lambda to store for a model: the mean of log(lambda) over the values from 1/32 to 32
 * times the scale-matched weight, each weighted by how well it agrees with the measurements, and
 * with the lambda `known` before them, if there is one. With d_i the difference between the best
 * value and lambda for question i, and se their standard error (math/standard-error.ts),
 *
 *     w(lambda) = exp(-z^2 / 2) exp(-log2(lambda / known)^2 / 2),  z = mean(d) / se(d)
 *     log(result) = sum(w(lambda) log(lambda)) / sum(w(lambda))
 *
 * With few questions many values agree, and the result is near the known value, or else near the
 * scale-matched weight. With many questions it is near the optimum. The optimum alone is mostly
 * chance: `measure` often changes little over a factor of ten. The first factor is the likelihood
 * of d = 0 under a normal distribution, the second a normal prior.
 *
 * A known value stays unless the result is better by more than one standard error: it was chosen
 * on real questions.
 *
 * @throws {InputError} if there are no questions
 */
export function robustLambda<Q extends QuestionUnion>(
  questions: readonly Q[],
  measure: (ranking: Ranking, question: Q) => number,
  known?: number,
): number {
  const values = (lambda: number): number[] =>
    questions.map((question) => measure(combineScores(question.union, lambda), question));
  const groups = questions.map(({ group }, i) => group ?? -1 - i);
  const best = values(tuneLambda(questions, measure).lambda);
  let [sum, total] = [0, 0];
  for (const lambda of gridAround(scaleMatchedLambda(questions))) {
    const doublings = known === undefined ? 0 : Math.log2(lambda / known) / PRIOR_DOUBLINGS;
    const differences = values(lambda).map((value, i) => best[i]! - value);
    const agrees = agreement(differences, groups);
    const weight = agrees * Math.exp(-(doublings ** 2) / 2);
    sum += weight * Math.log(lambda);
    total += weight;
  }
  // All weights are 0 if only lambda 0 agrees: the smallest value is next to it.
  const result = total > 0 ? Math.exp(sum / total) : gridAround(scaleMatchedLambda(questions))[0]!;
  const chosen = Number(result.toPrecision(3));
  if (known === undefined) return chosen;
  const before = values(known);
  const gains = values(chosen).map((value, i) => value - before[i]!);
  return inErrors(gains, groups) > 1 ? chosen : known;
}

/** exp(-z^2 / 2) for the mean z of differences in standard errors; 1 if it is below 0. */
const agreement = (differences: readonly number[], groups: readonly number[]): number =>
  Math.exp(-(Math.max(0, inErrors(differences, groups)) ** 2) / 2);

/** The mean of differences in standard errors. One group has none: 0. */
function inErrors(differences: readonly number[], groups: readonly number[]): number {
  const average = mean(differences);
  if (average === 0 || new Set(groups).size === 1) return 0;
  return average / standardError(differences, groups);
}

/** The lambda with which both scores spread over equal ranges, or 1 if a score does not spread. */
function scaleMatchedLambda(questions: readonly QuestionUnion[]): number {
  const spread = (scores: (union: HybridScores) => Float64Array): number =>
    questions.reduce((sum, { union }) => sum + range(scores(union)), 0);
  const lexical = spread((union) => union.lexical);
  const dense = spread((union) => union.dense);
  return lexical > 0 && dense > 0 ? lexical / dense : 1;
}

/** 21 values from 1/32 to 32 times `unit`, ascending, in steps of sqrt(2). */
const gridAround = (unit: number): number[] =>
  Array.from({ length: 21 }, (_, i) => Number((unit * 2 ** ((i - 10) / 2)).toPrecision(3)));

const range = (values: Float64Array): number =>
  values.length === 0 ? 0 : Math.max(...values) - Math.min(...values);
