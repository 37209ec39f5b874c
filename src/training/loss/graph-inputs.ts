/** What the graphs of loss-graph.ts are fed with, and what they are told. Q, K, n, m, U, T are as in objective.ts. */

import type { ModelConfig } from "../../model/config.ts";
import type { Signature } from "../../tensor/trace.ts";
import type { RetrievalInput } from "./loss.ts";

/**
 * - `distillation`: `nll + alpha KL(attention || retrieval)`, reading all passages of a question at once (ReAtt, Eq. 4)
 * - `supervised`: `nll + alpha KL(relevance || retrieval)`, where the passage known to be relevant has all of the target: the
 *   negative log likelihood of that passage (DPR, Karpukhin et al. 2020, Eq. 2); `distillation` where none is known
 * - `marginal`: the likelihood summed over passages that are read one by one (REALM, Eq. 1)
 * - `qa`: `nll` alone; retrieval is left as it is
 */
export type ObjectiveName = "distillation" | "supervised" | "marginal" | "qa";

/** How retrieval takes part in an objective. */
export interface RetrievalOptions {
  /** Weight of the KL divergence in `distillation` and `supervised`. */
  readonly alpha: number;
  /** Temperature at which all heads are mixed by learned weights; undefined for the one head of the configuration. */
  readonly tau?: number | undefined;
}

export interface ObjectiveOptions extends RetrievalOptions {
  readonly objective: ObjectiveName;
  /** Weight of the copyAttention loss (`answerShares` in objective.ts), in all objectives but `marginal`. Default 0. */
  readonly copyAttention?: number | undefined;
}

/** What a chunk is fed with; the sizes are of this chunk alone. */
export function chunkSignature(questions: number, passages: number): Record<ChunkInput, Signature> {
  const pairs = questions * passages;
  return {
    questionIds: ["int32", 2 * questions, "n"],
    questionMask: ["float32", 2 * questions, "n"],
    questionBuckets: ["int32", "n", "n"],
    passageIds: ["int32", "U", "m"],
    passageMask: ["float32", "U", "m"],
    passageBuckets: ["int32", "m", "m"],
    passageOf: ["int32", pairs],
    pairMask: ["float32", pairs, "n+m"],
    pairBuckets: ["int32", "n+m", "n+m"],
    answerIds: ["int32", questions, "T"],
    answerBuckets: ["int32", "T", "T"],
    labels: ["int32", questions, "T"],
    labelMask: ["float32", questions, "T"],
    answerTokens: ["float32", questions, "T", "K(n+m)"],
    candidates: ["float32", questions, pairs],
    own: ["int32", pairs],
    relevance: ["float32", questions, passages],
    questionsOfBatch: ["float32"],
    labelsOfBatch: ["float32"],
  };
}

export type ChunkInput =
  /** Every question as it is retrieved, then every question as it is read; padded on the left. */
  | "questionIds"
  | "questionMask"
  | "questionBuckets"
  /** The passages of the chunk, each once; padded on the right. */
  | "passageIds"
  | "passageMask"
  | "passageBuckets"
  /** Of each question's close passages, the row in `passageIds`. */
  | "passageOf"
  | "pairMask"
  | "pairBuckets"
  /** The start token and the answer without its end. */
  | "answerIds"
  | "answerBuckets"
  /** The answer. */
  | "labels"
  | "labelMask"
  /** 1 for the tokens of a question's passages that are the answer's first, second, ... token where a passage has the answer. */
  | "answerTokens"
  /** 1 for the close passages that compete for a question, of all questions of the chunk. */
  | "candidates"
  /** The position of each question's own close passages in the flattened `candidates`. */
  | "own"
  /** 1 for the passage of each question that is known to be relevant. */
  | "relevance"
  /** What losses are averaged over: the questions and the label tokens of all chunks. */
  | "questionsOfBatch"
  | "labelsOfBatch";

/** What step 2 gives to a chunk: the log normaliser of each question, and the gradients of their average. */
export function cacheSignature(
  { heads, headSize }: ModelConfig,
  questions: number,
  { tau }: RetrievalOptions,
): Record<CacheInput, Signature> {
  const compared = tau === undefined ? 1 : heads;
  return {
    logNormaliser: ["float32", questions],
    queryGradient: ["float32", questions, compared, "n", headSize],
    keyGradient: ["float32", "U", compared, "m", headSize],
  };
}

export type CacheInput = "logNormaliser" | "queryGradient" | "keyGradient";

/** What step 2 is fed with: vectors of the whole batch, with P the close passages of all questions. */
export function competitionSignature(
  { heads, headSize }: ModelConfig,
  { tau }: RetrievalOptions,
): Record<CompetitionInput, Signature> {
  const compared = tau === undefined ? 1 : heads;
  return {
    queries: ["float32", "Q", compared, "n", headSize],
    questionMask: ["float32", "Q", "n"],
    keys: ["float32", "U", compared, "m", headSize],
    passageMask: ["float32", "U", "m"],
    passageOf: ["int32", "P"],
    candidates: ["float32", "Q", "P"],
    questionsOfBatch: ["float32"],
  };
}

export type CompetitionInput =
  | keyof RetrievalInput<unknown>
  | "passageOf"
  | "candidates"
  | "questionsOfBatch";
