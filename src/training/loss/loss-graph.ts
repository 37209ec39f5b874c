/**
 * The loss of one chunk of a batch, composed of the losses in this folder.
 *
 * - `distillation`, `supervised`: `L = nll + w copyAttention + alpha KL(target || P_ret)`
 * - `qa`: `L = nll + w copyAttention`
 * - `marginal`: `L = -1/N sum over questions of log P(a | q)`
 * - `retrieval`: `L = alpha KL(target || P_ret)`, and the loss of given scores (retrieval-only.ts)
 *
 * `distillation`, `supervised` and `retrieval` can add that of phrases (chunk-phrases.ts).
 *
 * `chunkLoss` is the whole loss of a batch of one chunk. `chunkVectors` and `batchNormaliser` serve
 * the gradient cache (../gradient-cache/gradient-cache.ts). Letters of shapes: graph-inputs.ts.
 */

import type { LayerContext } from "../../model/layers/context.ts";
import type { Ops } from "../../tensor/ops.ts";
import { answerPhraseLoss, attentionPhraseLoss } from "./chunk-phrases.ts";
import { copyAttentionLogShares } from "./copy-attention.ts";
import {
  candidateLogits,
  crossDocumentAdjustment,
  inBatchLogNormaliser,
} from "./cross-document-adjustment.ts";
import {
  type EncodedChunk,
  encodeChunk,
  encodeForRetrieval,
  type ReadingInputs,
  readAlone,
  readTogether,
} from "./forward.ts";
import type {
  CacheInputs,
  ChunkInputs,
  NormaliserInput,
  PhraseInput,
  RetrievalInput,
  ScoreInput,
  SharedStates,
} from "./graph-inputs.ts";
import { marginalLogLikelihood } from "./marginal.ts";
import { labelLogProbabilities, meanNegativeLog } from "./nll.ts";
import type { LossGraphOptions } from "./options.ts";
import { softTargetLoss } from "./retrieval-only.ts";
import { passageScores, type RetrievalVectors } from "./retrieval-score.ts";
import { positivesTarget, retrievalTarget } from "./supervised.ts";
import {
  keepsSharedLayers,
  type TrainedOptions,
  type TrainedParameters,
} from "./trained-parameters.ts";

/** The chunk's share of each loss of the batch, and what the losses were computed from. */
export interface ChunkLoss<T> {
  /** []: what is minimised. With a cache only its gradient is correct, not its value. */
  readonly loss: T;
  /** []; absent for `retrieval` */
  readonly nll?: T;
  /** []; absent without a weight */
  readonly copyAttention?: T;
  /** []; absent without a weight */
  readonly phraseLoss?: T;
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
    /** []: the loss of given scores; only for `retrieval` */
    readonly softKl?: T;
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
  cache?: CacheInputs<T>,
): ChunkLoss<T> {
  const { ops } = context;
  if (options.objective === "retrieval")
    return retrievalLoss(context, trained, input as RetrievalOnlyInputs<T>, options, cache);
  const read = input as ReadingInputs<T>;
  const encoded = encodeChunk(context, trained.model, read, options);
  if (options.objective === "marginal")
    return marginalLoss(context, trained, read, encoded, options);
  const { attention, tokenAttention, ...reading } = readingLoss(
    context,
    trained,
    read,
    encoded,
    options,
  );
  if (options.objective === "qa") return reading;
  const scored = chunkScores(ops, trained, encoded, read, options);
  const targets = { positives: read.positives, ownLogits: scored.ownLogits };
  const target = retrievalTarget(ops, { ...targets, targetAttention: attention });
  const adjustment = adjustmentLoss(ops, trained, read, encoded, scored, target, options, cache);
  const both = { ...reading, ...adjustment, loss: ops.add(reading.loss, adjustment.loss) };
  const phrases = () => attentionPhraseLoss(ops, encoded, input, tokenAttention);
  return withPhrases(ops, both, options, phrases);
}

/** Adds the phrase loss, if it has a weight. */
function withPhrases<T>(
  ops: Ops<T>,
  losses: ChunkLoss<T>,
  { phraseLoss: weight }: LossGraphOptions,
  compute: () => T,
): ChunkLoss<T> {
  if (!weight) return losses;
  const phraseLoss = compute();
  const weighted = ops.multiply(phraseLoss, ops.scalar(weight));
  return { ...losses, phraseLoss, loss: ops.add(losses.loss, weighted) };
}

type RetrievalOnlyInputs<T> = Readonly<
  Record<RetrievalInput | ScoreInput, T> & Partial<Record<PhraseInput | SharedStates, T>>
>;

/** The loss of positives and of given scores (retrieval-only.ts). */
function retrievalLoss<T>(
  context: LayerContext<T>,
  trained: TrainedParameters<T>,
  input: RetrievalOnlyInputs<T>,
  options: LossGraphOptions,
  cache: CacheInputs<T> | undefined,
): ChunkLoss<T> {
  const { ops } = context;
  const encoded = encodeForRetrieval(context, trained.model, { ...input, ...cache }, options);
  const scored = chunkScores(ops, trained, encoded, input, options);
  const target = positivesTarget(ops, { positives: input.positives, ownLogits: scored.ownLogits });
  const adjustment = adjustmentLoss(ops, trained, input, encoded, scored, target, options, cache);
  const { softTargets, scoredMask } = input;
  const ofQuestions = softTargetLoss(ops, { logits: scored.allLogits, softTargets, scoredMask });
  const softKl = ops.divide(ops.sum(ofQuestions, [0]), input.batchQuestions);
  const loss = ops.add(adjustment.loss, ops.multiply(softKl, ops.scalar(options.alpha)));
  const retrieval = { ...adjustment, distillation: { ...adjustment.distillation, softKl }, loss };
  return withPhrases(ops, retrieval, options, () => answerPhraseLoss(ops, encoded, input));
}

/** `nll + w copyAttention`, and the attention of `readTogether`. */
function readingLoss<T>(
  context: LayerContext<T>,
  { model }: TrainedParameters<T>,
  input: ReadingInputs<T>,
  encoded: EncodedChunk<T>,
  { copyAttention: weight }: LossGraphOptions,
): Pick<ChunkLoss<T>, "loss" | "copyAttention"> & { nll: T; attention: T; tokenAttention: T } {
  const { ops } = context;
  const { tokenAttention, attention, ...read } = readTogether(context, model, input, encoded);
  const { labels, labelMask } = input;
  const ofLabels = labelLogProbabilities(ops, { ...read, labels, labelMask });
  const nll = meanNegativeLog(ops, ofLabels, input.batchLabels);
  if (!weight) return { nll, loss: nll, attention, tokenAttention };
  const shares = copyAttentionLogShares(ops, {
    attention: tokenAttention,
    copyMask: input.copyMask,
  });
  const copyAttention = meanNegativeLog(ops, shares, input.batchLabels);
  const loss = ops.add(nll, ops.multiply(copyAttention, ops.scalar(weight)));
  return { nll, copyAttention, loss, attention, tokenAttention };
}

/** `alpha KL(target || P_ret)`, averaged over the questions of the batch. */
function adjustmentLoss<T>(
  ops: Ops<T>,
  { logScale }: TrainedParameters<T>,
  { normaliserBias, batchQuestions }: Readonly<Record<RetrievalInput, T>>,
  encoded: RetrievalVectors<T>,
  { scores, ownLogits }: Pick<ChunkScores<T>, "scores" | "ownLogits">,
  target: T,
  options: LossGraphOptions,
  cache: CacheInputs<T> | undefined,
): Required<Pick<ChunkLoss<T>, "loss" | "retrieval" | "distillation">> {
  const logNormaliser =
    cache?.logNormaliser ?? inBatchLogNormaliser(ops, { scores, normaliserBias, logScale });
  const adjustment = { ownLogits, target, logNormaliser };
  const { kl: klOfQuestions, logProbabilities } = crossDocumentAdjustment(ops, adjustment);
  const kl = ops.divide(ops.sum(klOfQuestions, [0]), batchQuestions);
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
  { queries, keys }: RetrievalVectors<T>,
  { queryGradient, keyGradient }: CacheInputs<T>,
): T {
  const inner = (a: T, b: T): T => ops.sum(ops.multiply(a, b), [0, 1, 2, 3]);
  return ops.add(inner(queries, queryGradient), inner(keys, keyGradient));
}

/** One likelihood for retrieval and reading, over a question's own candidates. */
function marginalLoss<T>(
  context: LayerContext<T>,
  trained: TrainedParameters<T>,
  input: ReadingInputs<T>,
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

interface ChunkScores<T> {
  /** [Q, U]: of all passages of the chunk */
  readonly scores: T;
  /** [Q, K]: see `candidateLogits` */
  readonly ownLogits: T;
  /** [Q, K]: e^s r(q, d), also of candidates that do not count */
  readonly allLogits: T;
}

function chunkScores<T>(
  ops: Ops<T>,
  { headWeights, logScale }: TrainedParameters<T>,
  encoded: RetrievalVectors<T>,
  { candidatePositions, candidateMask }: Readonly<Record<RetrievalInput, T>>,
  { tau }: LossGraphOptions,
): ChunkScores<T> {
  const scores = passageScores(ops, encoded, headWeights, tau);
  const own = ops.gather(ops.reshape(scores, [-1]), candidatePositions); // [P]
  const ownScores = ops.reshape(own, ops.shape(candidateMask));
  const allLogits = ops.multiply(ownScores, ops.exp(logScale));
  return { scores, ownLogits: candidateLogits(ops, { allLogits, candidateMask }), allLogits };
}

/** The outputs of a chunk by name, without the loss that is differentiated. */
export function namedLosses<T>(chunk: Omit<ChunkLoss<T>, "loss">): Record<string, T> {
  const { nll, copyAttention, phraseLoss, retrieval, distillation } = chunk;
  return {
    ...(nll && { nll }),
    ...(copyAttention && { copyAttention }),
    ...(phraseLoss && { phraseLoss }),
    ...retrieval,
    ...distillation,
  };
}

/**
 * Pass 1 of the gradient cache: queries [Q, H, n, e] and keys [U, H, m, e] of a chunk, and the
 * states that `cacheInputs` has.
 */
export function chunkVectors<T>(
  context: LayerContext<T>,
  { model }: TrainedParameters<T>,
  input: ChunkInputs<T>,
  options: Pick<LossGraphOptions, "objective" | "tau"> & TrainedOptions,
): Readonly<{ queries: T; keys: T } & Partial<Record<SharedStates, T>>> {
  if (options.objective !== "retrieval") {
    const { queries, keys } = encodeChunk(context, model, input as ReadingInputs<T>, options);
    return { queries, keys };
  }
  const encoded = encodeForRetrieval(context, model, input, options);
  const { queries, keys, questionStates, passageStates } = encoded;
  const known = input.passageStates ?? input.passageShared;
  const isHeld = known === undefined && keepsSharedLayers(context.config, options);
  return {
    ...{ queries, keys },
    ...(isHeld && { questionShared: questionStates, passageShared: passageStates }),
  };
}

/**
 * Pass 2 of the gradient cache: the log normaliser of each question [Q], and its mean over the
 * questions that have a target [].
 */
export function batchNormaliser<T>(
  ops: Ops<T>,
  { headWeights, logScale }: Omit<TrainedParameters<T>, "model">,
  input: Readonly<Record<NormaliserInput, T>>,
  { tau }: Pick<LossGraphOptions, "tau">,
): { logNormaliser: T; mean: T } {
  const scores = passageScores(ops, input, headWeights, tau);
  const { normaliserBias, batchQuestions, targetMass } = input;
  const logNormaliser = inBatchLogNormaliser(ops, { scores, normaliserBias, logScale });
  const sum = ops.sum(ops.multiply(logNormaliser, targetMass), [0]);
  return { logNormaliser, mean: ops.divide(sum, batchQuestions) };
}
