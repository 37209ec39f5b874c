/**
 * Names, types and shapes of the inputs of the loss graphs.
 *
 * Letters of shapes, in this folder and in gradient-cache/ (in brackets: the symbol in ReAtt):
 *
 * - `Q`: questions of a chunk, or of the batch (|Q|)
 * - `K`: candidates of each question (K, "close documents"), with padding
 * - `P`: candidates of all questions, Q K
 * - `U`: different passages among the P candidates
 * - `n`: tokens of a question with padding (|q|)
 * - `m`: tokens of a passage with padding (|d|)
 *   Vectors have 1 in place of n and m if the model pools (encoder/pooling.ts)
 * - `T`: tokens of an answer with padding
 * - `W`: tokens of the passages of earlier steps (gradient-cache/pre-batch.ts)
 * - `H`: heads that score passages: all heads, or 1 where the retrieval head is fixed
 * - `e`: values of a vector: the head size (e), or with pooling that of all heads
 */

import { type ModelConfig, vectorSize } from "../../model/config.ts";
import type { Dim } from "../../tensor/ops.ts";
import type { Signature } from "../../tensor/trace.ts";
import type { LossGraphOptions, ObjectiveName } from "./options.ts";
import type { RetrievalVectors } from "./retrieval-score.ts";
import { keepsSharedLayers, type TrainedOptions } from "./trained-parameters.ts";

/** The inputs of all objectives. */
export type RetrievalInput =
  /**
   * The questions as retrieval encodes them, then the questions as the reader reads them. The
   * second part is missing for `retrieval`.
   */
  | "questionIds"
  | "questionMask"
  | "questionBuckets"
  /** The different passages of the chunk. */
  | "passageIds"
  | "passageMask"
  | "passageBuckets"
  /** 0 for the passages that count in the normaliser of a question, MASKED for the others. */
  | "normaliserBias"
  /** The position of each question's own candidates in the flattened scores. */
  | "candidatePositions"
  /** 1 for the candidates of a question that count in its normaliser. */
  | "candidateMask"
  /** 1 for the positives, if the target of the question is known. Otherwise the row is 0. */
  | "positives"
  /** Questions of the whole batch that have a target. The losses are averages over them. */
  | "batchQuestions";

/** The inputs of the objectives that read. */
export type ReaderGraphInput =
  /** The row in `passageIds` of each candidate. Any row for a padding candidate. */
  | "candidateRows"
  /**
   * Each question followed by one of its candidates, as the upper encoder layers read them. All 0
   * for a padding candidate.
   */
  | "pairMask"
  | "pairBuckets"
  /** The input of the decoder: the start token, then the answer without its last token. */
  | "answerIds"
  | "answerBuckets"
  /** The tokens that the decoder has to predict: the answer with `</s>`. */
  | "labels"
  | "labelMask"
  /** 1 where a token of a candidate is the t-th token of an occurrence of the answer. */
  | "copyMask"
  /** Label tokens of the whole batch. The losses of reading are averages over them. */
  | "batchLabels";

/** The inputs of the objective `retrieval`. */
export type ScoreInput =
  /** The distribution of given scores over the candidates, or 0 for a question without scores. */
  | "softTargets"
  /** 1 for the candidates that have a given score. */
  | "scoredMask";

/** The inputs of the phrase loss (chunk-phrases.ts). */
export type PhraseInput =
  /** For `retrieval`: 1 where the answer starts, and where it ends, in the question's positives. */
  | "phraseAnswers"
  /** For `retrieval`: 1 for the passages of a question that have its answer. */
  | "phrasePassages"
  /** For objectives that read: 1 for the first, and for the last, token of the answer. */
  | "phraseTurns"
  /** 1 / count of all questions of the batch that have a phrase; 0 for the others. */
  | "phraseWeights"
  /** The token keys of earlier steps, and 0 for those that count for a question, else MASKED. */
  | "earlierKeys"
  | "earlierBias";

export type ChunkInput = RetrievalInput | ReaderGraphInput | ScoreInput | PhraseInput;

/**
 * Inputs in place of the ids of passages and of buckets: states that the lower layers have computed
 * before.
 */
export type StateInput =
  /** [Q, n, modelSize] */
  | "questionStates"
  /** [U, m, modelSize] */
  | "passageStates";

/**
 * The states of a chunk's questions and passages after the layers that training leaves as they are
 * (`keepsSharedLayers`). They are inputs of the chunk if they were computed before the step.
 * Otherwise pass 1 computes them, and pass 3 begins with them.
 */
export type SharedStates = "questionShared" | "passageShared";

/** The inputs of a chunk. Those of `ReaderGraphInput` or those of `ScoreInput` are missing. */
export type ChunkInputs<T> = Readonly<
  Record<RetrievalInput, T> &
    Partial<Record<ReaderGraphInput | ScoreInput | PhraseInput | StateInput | SharedStates, T>>
>;

/** The sizes of a chunk that its inputs depend on. */
export interface ChunkSizes {
  readonly questions: number;
  /** K: the largest number of candidates of a question of the batch. */
  readonly candidates: number;
  /** The model size, if the chunk has states in place of ids. */
  readonly stateSize?: number | undefined;
  /** The model size, if the chunk has shared states. */
  readonly sharedSize?: number | undefined;
  /** Whether the chunk has the inputs of the phrase loss. Default false. */
  readonly hasPhrases?: boolean | undefined;
  /** The size of a key, if the phrase loss has the keys of earlier steps. */
  readonly earlierKeySize?: number | undefined;
}

/**
 * The inputs of the loss of one chunk. Questions are padded on the left, passages and answers on
 * the right. Masks have 1 for a token and 0 for padding. Inputs of other objectives are missing.
 */
export function chunkInputs(
  { questions, candidates, stateSize, sharedSize, hasPhrases, earlierKeySize }: ChunkSizes,
  objective: ObjectiveName,
): Record<ChunkInput, Signature> {
  const isRead = objective !== "retrieval";
  const perCandidate: Signature = ["float32", questions, candidates];
  const rows = isRead ? 2 * questions : questions;
  const inputs: Partial<ChunkInputs<Signature>> = {
    questionIds: ["int32", rows, "n"],
    ...textInputs(rows, stateSize),
    ...(sharedSize !== undefined && sharedInputs(rows, sharedSize)),
    questionMask: ["float32", rows, "n"],
    passageMask: ["float32", "U", "m"],
    normaliserBias: ["float32", questions, "U"],
    candidatePositions: ["int32", questions * candidates],
    candidateMask: perCandidate,
    positives: perCandidate,
    batchQuestions: ["float32"],
    ...(isRead
      ? readingInputs(questions, questions * candidates)
      : { softTargets: perCandidate, scoredMask: perCandidate }),
    ...(hasPhrases && phraseInputs(questions, isRead, earlierKeySize)),
  };
  return inputs as Record<ChunkInput, Signature>;
}

/** The inputs that states come from, or the states. */
const textInputs = (
  rows: number,
  stateSize: number | undefined,
): Partial<ChunkInputs<Signature>> =>
  stateSize === undefined
    ? {
        questionBuckets: ["int32", "n", "n"],
        passageIds: ["int32", "U", "m"],
        passageBuckets: ["int32", "m", "m"],
      }
    : {
        questionStates: ["float32", rows, "n", stateSize],
        passageStates: ["float32", "U", "m", stateSize],
      };

const sharedInputs = (rows: number, size: number): Record<SharedStates, Signature> => ({
  questionShared: ["float32", rows, "n", size],
  passageShared: ["float32", "U", "m", size],
});

const phraseInputs = (
  questions: number,
  isRead: boolean,
  earlierKeySize: number | undefined,
): Partial<Record<PhraseInput, Signature>> => ({
  ...(isRead
    ? { phraseTurns: ["float32", questions, 2, "T"] }
    : {
        phraseAnswers: ["float32", questions, 2, "U", "m"],
        phrasePassages: ["float32", questions, "U"],
      }),
  phraseWeights: ["float32", questions],
  ...(earlierKeySize !== undefined && {
    earlierKeys: ["float32", "W", earlierKeySize],
    earlierBias: ["float32", questions, 1, "W"],
  }),
});

function readingInputs(questions: number, pairs: number): Record<ReaderGraphInput, Signature> {
  return {
    candidateRows: ["int32", pairs],
    pairMask: ["float32", pairs, "n+m"],
    pairBuckets: ["int32", "n+m", "n+m"],
    answerIds: ["int32", questions, "T"],
    answerBuckets: ["int32", "T", "T"],
    labels: ["int32", questions, "T"],
    labelMask: ["float32", questions, "T"],
    copyMask: ["float32", questions, "T", "K(n+m)"],
    batchLabels: ["float32"],
  };
}

export type NormaliserInput =
  | keyof RetrievalVectors<unknown>
  | "normaliserBias"
  | "batchQuestions"
  /** 1 for the questions that have a target, else 0: the derivative of the KL in log Z. */
  | "targetMass";

/** The inputs of the in-batch normaliser: query vectors and token keys of the whole batch. */
export function normaliserInputs(
  config: ModelConfig,
  options: Pick<LossGraphOptions, "tau">,
): Record<NormaliserInput, Signature> {
  const [n, m] = vectorCounts(config);
  return {
    queries: ["float32", "Q", ...headsOf(config, options, n)],
    questionMask: ["float32", "Q", n],
    keys: ["float32", "U", ...headsOf(config, options, m)],
    passageMask: ["float32", "U", m],
    normaliserBias: ["float32", "Q", "U"],
    batchQuestions: ["float32"],
    targetMass: ["float32", "Q"],
  };
}

export type CacheInput = "logNormaliser" | "queryGradient" | "keyGradient";

/** What pass 3 gets of a chunk from the gradient cache. */
export type CacheInputs<T> = Readonly<Record<CacheInput, T> & Partial<Record<SharedStates, T>>>;

/**
 * The inputs that a chunk gets from the gradient cache: the log normaliser of each question, and
 * the gradients of the batch's mean log normaliser with respect to the chunk's vectors. Shared
 * states are missing if the layers below them are trained, or if the chunk has states already.
 */
export function cacheInputs(
  config: ModelConfig,
  { questions, stateSize, sharedSize }: Omit<ChunkSizes, "candidates">,
  options: Pick<LossGraphOptions, "tau"> & TrainedOptions,
): CacheInputs<Signature> {
  const [n, m] = vectorCounts(config);
  const isHeld = (stateSize ?? sharedSize) === undefined && keepsSharedLayers(config, options);
  return {
    logNormaliser: ["float32", questions],
    queryGradient: ["float32", questions, ...headsOf(config, options, n)],
    keyGradient: ["float32", "U", ...headsOf(config, options, m)],
    ...(isHeld && sharedInputs(questions, config.modelSize)),
  };
}

/** n and m of vectors. */
const vectorCounts = ({ pooling }: ModelConfig): [n: Dim, m: Dim] =>
  pooling === undefined ? ["n", "m"] : [1, 1];

/** [H, n or m, e] */
const headsOf = (
  config: ModelConfig,
  { tau }: Pick<LossGraphOptions, "tau">,
  count: Dim,
): [H: number, count: Dim, e: number] => [
  tau === undefined ? 1 : config.heads,
  count,
  vectorSize(config),
];
