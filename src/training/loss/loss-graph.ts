/**
 * The loss of one chunk of a batch, composed of the losses in this folder.
 *
 * - `distillation`, `supervised`: `L = nll + w copyAttention + alpha KL(target || P_ret)`
 * - `qa`: `L = nll + w copyAttention`
 * - `marginal`: `L = -1/N sum over questions of log P(a | q)`
 *
 * `chunkLoss` is the whole loss of a batch of one chunk. `chunkVectors` and `batchNormaliser` serve
 * the gradient cache (../gradient-cache/gradient-cache.ts). Letters of shapes: graph-inputs.ts.
 */

import type { LayerContext } from "../../model/layers/context.ts";
import type { Ops } from "../../tensor/ops.ts";
import { copyAttentionLogShares } from "./copy-attention.ts";
import {
  candidateLogits,
  crossDocumentAdjustment,
  inBatchLogNormaliser,
} from "./cross-document-adjustment.ts";
import { type EncodedChunk, encodeChunk, readAlone, readTogether } from "./forward.ts";
import type { CacheInput, ChunkInput, NormaliserInput } from "./graph-inputs.ts";
import { marginalLogLikelihood } from "./marginal.ts";
import { labelLogProbabilities, meanNegativeLog } from "./nll.ts";
import type { LossGraphOptions } from "./options.ts";
import { passageScores } from "./retrieval-score.ts";
import { retrievalTarget } from "./supervised.ts";
import type { TrainedParameters } from "./trained-parameters.ts";

type ChunkInputs<T> = Readonly<Record<ChunkInput, T>>;

/** The chunk's share of each loss of the batch, and what the losses were computed from. */
export interface ChunkLoss<T> {
  /** []: what is minimised. With a cache only its gradient is correct, not its value. */
  readonly loss: T;
  /** [] */
  readonly nll: T;
  /** []; absent without a weight */
  readonly copyAttention?: T;
  /** Absent for `qa`. */
  readonly retrieval?: {
    /** [Q, U]: scores of the chunk's passages, before the learned scale */
    readonly scores: T;
    /**
     * [Q, K]: the log of the retrieval distribution at a question's own candidates. Near MASKED for
     * those that do not count.
     */
    readonly logProbabilities: T;
  };
  /** Absent for `qa` and `marginal`. */
  readonly distillation?: {
    /** [] */
    readonly kl: T;
    /** [Q, K]: the target attention, or the distribution over the positives */
    readonly target: T;
  };
}

/**
 * The loss of a chunk. `cache` is needed where the normaliser of a question includes passages of
 * other chunks.
 */
export function chunkLoss<T>(
  context: LayerContext<T>,
  trained: TrainedParameters<T>,
  input: ChunkInputs<T>,
  options: LossGraphOptions,
  cache?: Readonly<Record<CacheInput, T>>,
): ChunkLoss<T> {
  const encoded = encodeChunk(context, trained.model, input, options);
  if (options.objective === "marginal")
    return marginalLoss(context, trained, input, encoded, options);
  const { attention, ...reading } = readingLoss(context, trained, input, encoded, options);
  if (options.objective === "qa") return reading;
  const adjustment = adjustmentLoss(
    context.ops,
    trained,
    input,
    encoded,
    attention,
    options,
    cache,
  );
  return { ...reading, ...adjustment, loss: context.ops.add(reading.loss, adjustment.loss) };
}

/** `nll + w copyAttention`, and the target attention [Q, K]. */
function readingLoss<T>(
  context: LayerContext<T>,
  { model }: TrainedParameters<T>,
  input: ChunkInputs<T>,
  encoded: EncodedChunk<T>,
  { copyAttention: weight }: LossGraphOptions,
): Pick<ChunkLoss<T>, "loss" | "nll" | "copyAttention"> & { attention: T } {
  const { ops } = context;
  const { logits, crossScores, attention } = readTogether(context, model, input, encoded);
  const ofLabels = labelLogProbabilities(ops, { logits, ...input });
  const nll = meanNegativeLog(ops, ofLabels, input.batchLabels);
  if (!weight) return { nll, loss: nll, attention };
  const shares = copyAttentionLogShares(ops, { crossScores, ...input });
  const copyAttention = meanNegativeLog(ops, shares, input.batchLabels);
  const loss = ops.add(nll, ops.multiply(copyAttention, ops.scalar(weight)));
  return { nll, copyAttention, loss, attention };
}

/** `alpha KL(target || P_ret)`, averaged over the questions of the batch. */
function adjustmentLoss<T>(
  ops: Ops<T>,
  trained: TrainedParameters<T>,
  input: ChunkInputs<T>,
  encoded: EncodedChunk<T>,
  attention: T,
  options: LossGraphOptions,
  cache: Readonly<Record<CacheInput, T>> | undefined,
): Required<Pick<ChunkLoss<T>, "loss" | "retrieval" | "distillation">> {
  const { logScale } = trained;
  const { scores, ownLogits } = chunkScores(ops, trained, encoded, input, options);
  const { positives, normaliserBias } = input;
  const target = retrievalTarget(ops, { positives, ownLogits, targetAttention: attention });
  const logNormaliser =
    cache?.logNormaliser ?? inBatchLogNormaliser(ops, { scores, normaliserBias, logScale });
  const adjustment = { ownLogits, target, logNormaliser };
  const { kl: klOfQuestions, logProbabilities } = crossDocumentAdjustment(ops, adjustment);
  const kl = ops.divide(ops.sum(klOfQuestions, [0]), input.batchQuestions);
  const differentiable = cache ? ops.add(kl, cachedGradientTerm(ops, encoded, cache)) : kl;
  return {
    loss: ops.multiply(differentiable, ops.scalar(options.alpha)),
    retrieval: { scores, logProbabilities },
    distillation: { kl, target },
  };
}

/**
 * A term whose gradient is that of the batch's mean log normaliser with respect to this chunk: the
 * inner product of the chunk's vectors with the cached gradients. Its value has no meaning.
 */
function cachedGradientTerm<T>(
  ops: Ops<T>,
  { queries, keys }: EncodedChunk<T>,
  { queryGradient, keyGradient }: Readonly<Record<CacheInput, T>>,
): T {
  const inner = (a: T, b: T): T => ops.sum(ops.multiply(a, b), [0, 1, 2, 3]);
  return ops.add(inner(queries, queryGradient), inner(keys, keyGradient));
}

/** One likelihood for retrieval and reading, over a question's own candidates. */
function marginalLoss<T>(
  context: LayerContext<T>,
  trained: TrainedParameters<T>,
  input: ChunkInputs<T>,
  encoded: EncodedChunk<T>,
  options: LossGraphOptions,
): ChunkLoss<T> {
  const { ops } = context;
  const { scores, ownLogits } = chunkScores(ops, trained, encoded, input, options);
  const logProbabilities = ops.logSoftmax(ownLogits);
  const read = readAlone(context, trained.model, input, encoded);
  const ofLabels = labelLogProbabilities(ops, read); // [P, T]
  const answers = ops.reshape(ops.sum(ofLabels, [1]), ops.shape(ownLogits)); // [Q, K]
  const likelihood = marginalLogLikelihood(ops, { answers, candidates: logProbabilities });
  const nll = meanNegativeLog(ops, likelihood, input.batchLabels);
  return { loss: nll, nll, retrieval: { scores, logProbabilities } };
}

/** `scores` [Q, U] of all passages of the chunk, `ownLogits` [Q, K] of a question's candidates. */
function chunkScores<T>(
  ops: Ops<T>,
  { headWeights, logScale }: TrainedParameters<T>,
  encoded: EncodedChunk<T>,
  { candidatePositions, candidateMask }: ChunkInputs<T>,
  { tau }: LossGraphOptions,
): { scores: T; ownLogits: T } {
  const scores = passageScores(ops, encoded, headWeights, tau);
  const own = ops.gather(ops.reshape(scores, [-1]), candidatePositions); // [P]
  const ownScores = ops.reshape(own, ops.shape(candidateMask));
  return { scores, ownLogits: candidateLogits(ops, { ownScores, candidateMask, logScale }) };
}

/** The outputs of a chunk by name, without the loss that is differentiated. */
export function namedLosses<T>(chunk: Omit<ChunkLoss<T>, "loss">): Record<string, T> {
  const { nll, copyAttention, retrieval, distillation } = chunk;
  return { nll, ...(copyAttention && { copyAttention }), ...retrieval, ...distillation };
}

/** Pass 1 of the gradient cache: queries [Q, H, n, e] and keys [U, H, m, e] of a chunk. */
export function chunkVectors<T>(
  context: LayerContext<T>,
  { model }: TrainedParameters<T>,
  input: ChunkInputs<T>,
  options: Pick<LossGraphOptions, "tau" | "querySide">,
): { queries: T; keys: T } {
  const { queries, keys } = encodeChunk(context, model, input, options);
  return { queries, keys };
}

/** Pass 2 of the gradient cache: the log normaliser of each question [Q], and their mean []. */
export function batchNormaliser<T>(
  ops: Ops<T>,
  { headWeights, logScale }: Omit<TrainedParameters<T>, "model">,
  input: Readonly<Record<NormaliserInput, T>>,
  { tau }: Pick<LossGraphOptions, "tau">,
): { logNormaliser: T; mean: T } {
  const scores = passageScores(ops, input, headWeights, tau);
  const { normaliserBias, batchQuestions } = input;
  const logNormaliser = inBatchLogNormaliser(ops, { scores, normaliserBias, logScale });
  return { logNormaliser, mean: ops.divide(ops.sum(logNormaliser, [0]), batchQuestions) };
}
