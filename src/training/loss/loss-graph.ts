/**
 * The model under its training objective, for one chunk of a batch.
 *
 * The retrieval distribution of a question runs over the passages of the whole batch, so the questions of a batch cannot be
 * trained one after the other as they are. The gradient cache (Gao et al. 2021; ReAtt, appendix A) can: what the chunks
 * owe each other goes through query vectors and keys alone. A batch is one chunk, or
 *
 * 1. `chunkVectors`: query vectors and keys of every chunk, without gradients;
 * 2. `competition`: of all of them, each question's log normaliser over the batch, and its gradients;
 * 3. `chunkObjective`: every chunk with gradients, the others' part given by step 2.
 *
 * Small chunks are also the fast ones: their tensors stay in the processor's cache from one operation to the next.
 */

import { crossKeyValues, decode, vocabularyLogits } from "../../decoder/decoder.ts";
import { targetAttention } from "../../decoder/target-attention.ts";
import {
  headVectors,
  type LowerParameters,
  lowerStates,
  querySide,
  retrievalVectors,
} from "../../encoder/lower-layers.ts";
import { upperStates } from "../../encoder/upper-layers.ts";
import type { LayerContext } from "../../model/layers/context.ts";
import type { ModelParameters } from "../../model/parameters.ts";
import type { Ops } from "../../tensor/ops.ts";
import type {
  CacheInput,
  ChunkInput,
  CompetitionInput,
  ObjectiveOptions,
  RetrievalOptions,
} from "./graph-inputs.ts";
import {
  answerShares,
  distillation,
  headScores,
  labelLogProbabilities,
  logNormalisers,
  marginalLogLikelihood,
  mixHeads,
  type RetrievalInput,
  scoresOfBatch,
} from "./loss.ts";
import type { TrainedParameters } from "./trained-parameters.ts";

/** The losses are of no axes, and the chunk's share of those of the batch; what concerns retrieval is there if it is trained. */
export interface ChunkObjective<T> {
  /** Its gradients are the chunk's share of those of the loss; its value means nothing where there is a cache. */
  readonly objective: T;
  /** Negative log likelihood of the answers, for each of their tokens. */
  readonly nll: T;
  /** Minus the log of the attention's share that falls on the answer, for each of its tokens; there if it has a weight. */
  readonly copyAttention?: T;
  readonly retrieval?: {
    /** [Q, Q K]: scores of the chunk's passages, before `exp(logScale)` */
    readonly scores: T;
    /** [Q, K]: log of the retrieval distribution at a question's own passages */
    readonly ownLogProbabilities: T;
  };
  readonly distillation?: {
    readonly kl: T;
    /** [Q, K]: the target attention, or what is known to be relevant */
    readonly target: T;
  };
}

/** The objective of a chunk, which is the whole batch unless there is a `cache`. */
export function chunkObjective<T>(
  context: LayerContext<T>,
  trained: TrainedParameters<T>,
  input: Record<ChunkInput, T>,
  options: ObjectiveOptions,
  cache?: Record<CacheInput, T>,
): ChunkObjective<T> {
  const lower = lowerChunk(context, trained, input, options);
  if (options.objective === "marginal")
    return marginalObjective(context, trained, input, lower, options);
  const { ops } = context;
  const { written, crossScores, attention } = readChunk(context, trained.model, input, lower);
  const logits = vocabularyLogits(context, trained.model, written);
  const nll = perLabel(ops, labelLogProbabilities(ops, { logits, ...input }), input);
  const copyAttention = options.copyAttention
    ? perLabel(ops, answerShares(ops, { crossScores, ...input }), input)
    : undefined;
  const reading = copyAttention
    ? {
        nll,
        copyAttention,
        objective: ops.add(nll, ops.multiply(copyAttention, ops.scalar(options.copyAttention!))),
      }
    : { nll, objective: nll };
  if (options.objective === "qa") return reading;

  const { scores, ownScores } = chunkScores(ops, trained, lower, input, options);
  const { logScale } = trained;
  const target =
    options.objective === "supervised" ? knownOr(ops, input.relevance, attention) : attention;
  const logNormaliser =
    cache?.logNormaliser ?? logNormalisers(ops, { scores, candidates: input.candidates, logScale });
  const { kl: ofQuestions, ownLogProbabilities } = distillation(ops, {
    ownScores,
    target,
    logNormaliser,
    logScale,
  });
  const kl = ops.divide(ops.sum(ofQuestions, [0]), input.questionsOfBatch);
  const inner = (a: T, b: T): T => ops.sum(ops.multiply(a, b), [0, 1, 2, 3]);
  const others =
    cache &&
    ops.add(inner(lower.queries, cache.queryGradient), inner(lower.keys, cache.keyGradient));
  const retrieving = ops.multiply(others ? ops.add(kl, others) : kl, ops.scalar(options.alpha));
  const objective = ops.add(reading.objective, retrieving);
  return {
    ...reading,
    objective,
    retrieval: { scores, ownLogProbabilities },
    distillation: { kl, target },
  };
}

/** What a chunk computes besides its gradients, by name. */
export function lossesByName<T>(chunk: Omit<ChunkObjective<T>, "objective">): Record<string, T> {
  const { nll, copyAttention, retrieval, distillation } = chunk;
  return { nll, ...(copyAttention && { copyAttention }), ...retrieval, ...distillation };
}

/** [Q, K]: what is known to be relevant; the attention of the questions for which nothing is. */
function knownOr<T>(ops: Ops<T>, relevance: T, attention: T): T {
  const unknown = ops.subtract(ops.scalar(1), ops.sum(relevance, [1], { keep: true }));
  return ops.add(relevance, ops.multiply(unknown, attention));
}

/** Retrieval and reading by one likelihood; a question's own passages are all that compete. */
function marginalObjective<T>(
  context: LayerContext<T>,
  trained: TrainedParameters<T>,
  input: Record<ChunkInput, T>,
  lower: LowerChunk<T>,
  options: ObjectiveOptions,
): ChunkObjective<T> {
  const { ops } = context;
  const { scores, ownScores } = chunkScores(ops, trained, lower, input, options);
  const ownLogProbabilities = ops.logSoftmax(ops.multiply(ownScores, ops.exp(trained.logScale)));
  const ofPairs = labelLogProbabilities(ops, readPairs(context, trained.model, input, lower)); // [Q K, T]
  const answers = ops.reshape(ops.sum(ofPairs, [1]), ops.shape(ownScores));
  const likelihood = marginalLogLikelihood(ops, { answers, passages: ownLogProbabilities });
  const nll = perLabel(ops, likelihood, input);
  return { objective: nll, nll, retrieval: { scores, ownLogProbabilities } };
}

/** Minus the sum of log probabilities, divided by the number of label tokens of the batch. */
function perLabel<T>(
  ops: Ops<T>,
  logProbabilities: T,
  { labelsOfBatch }: Record<ChunkInput, T>,
): T {
  const axes = ops.shape(logProbabilities).map((_, axis) => axis);
  return ops.divide(ops.multiply(ops.sum(logProbabilities, axes), ops.scalar(-1)), labelsOfBatch);
}

/** Step 1: what the chunks of a batch show each other. */
export function chunkVectors<T>(
  context: LayerContext<T>,
  trained: TrainedParameters<T>,
  input: Record<ChunkInput, T>,
  options: RetrievalOptions,
): { queries: T; keys: T } {
  const { queries, keys } = lowerChunk(context, trained, input, options);
  return { queries, keys };
}

/** Step 2, for some or all questions of a batch against all its passages: each log normaliser [Q], and their share of the average. */
export function competition<T>(
  ops: Ops<T>,
  { headWeights, logScale }: Omit<TrainedParameters<T>, "model">,
  input: Record<CompetitionInput, T>,
  { tau }: RetrievalOptions,
): { logNormaliser: T; average: T } {
  const scores = scoresOfBatch(
    ops,
    mix(ops, headScores(ops, input), headWeights, tau),
    input.passageOf,
  );
  const logNormaliser = logNormalisers(ops, { scores, candidates: input.candidates, logScale });
  return {
    logNormaliser,
    average: ops.divide(ops.sum(logNormaliser, [0]), input.questionsOfBatch),
  };
}

interface LowerChunk<T> extends RetrievalInput<T> {
  /** [Q, n, modelSize]: the questions as they are read */
  readonly questionStates: T;
  /** [U, m, modelSize] */
  readonly passageStates: T;
}

function lowerChunk<T>(
  context: LayerContext<T>,
  { model }: TrainedParameters<T>,
  input: Record<ChunkInput, T>,
  { tau }: RetrievalOptions,
): LowerChunk<T> {
  const { retrieved, questionMask, read } = lowerQuestions(context, model, input);
  const passageStates = lowerStates(context, model, {
    ids: input.passageIds,
    mask: input.passageMask,
    buckets: input.passageBuckets,
  });
  const vectors = tau === undefined ? oneHead<T> : headVectors<T>;
  return {
    queries: vectors(context, querySide(model), retrieved, "query"),
    questionMask,
    keys: vectors(context, model, passageStates, "key"),
    passageMask: input.passageMask,
    questionStates: read,
    passageStates,
  };
}

/** States of the questions as they are retrieved, of which `questionMask` is the mask, and as they are read: [Q, n, modelSize]. */
function lowerQuestions<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  { questionIds, questionMask, questionBuckets: buckets, labels }: Record<ChunkInput, T>,
): { retrieved: T; questionMask: T; read: T } {
  const { ops, config } = context;
  const [questions] = ops.shape(labels);
  const halves = (x: T): [T, T] => ops.split(x, 0, [questions!, questions!]) as [T, T];
  const masks = halves(questionMask);
  if (!config.queryEncoder) {
    const states = lowerStates(context, model, { ids: questionIds, mask: questionMask, buckets });
    const [retrieved, read] = halves(states);
    return { retrieved, questionMask: masks[0], read };
  }
  const ids = halves(questionIds);
  return {
    retrieved: lowerStates(context, querySide(model), { ids: ids[0], mask: masks[0], buckets }),
    questionMask: masks[0],
    read: lowerStates(context, model, { ids: ids[1], mask: masks[1], buckets }),
  };
}

/** What the configured head compares: [batch, length, modelSize] -> [batch, 1, length, headSize]. */
function oneHead<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  states: T,
  projection: "query" | "key",
): T {
  const { ops, config } = context;
  const [batch, length] = ops.shape(states);
  const vectors = retrievalVectors(context, parameters, states, projection);
  return ops.reshape(vectors, [batch!, 1, length!, config.headSize]);
}

/** All passages of a question at once: -> `written` [Q, T, modelSize], `crossScores` as of `decode`, `attention` [Q, K]. */
function readChunk<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: Record<ChunkInput, T>,
  lower: LowerChunk<T>,
): { written: T; crossScores: T; attention: T } {
  const { ops, config } = context;
  const { states, owners } = pairStates(context, model, input, lower);
  const [questions] = ops.shape(input.labels) as [number];
  const { states: written, crossScores } = decode(context, model, {
    ids: input.answerIds,
    buckets: input.answerBuckets,
    cross: crossKeyValues(context, model, ops.reshape(states, [questions, -1, config.modelSize])),
    crossMask: ops.reshape(input.pairMask, [questions, -1]),
  });
  return {
    written,
    crossScores,
    attention: targetAttention(context, crossScores, owners.length / questions),
  };
}

/** Each passage of a question alone: -> `logits` [Q K, T, vocabulary], with the labels of each pair. */
function readPairs<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: Record<ChunkInput, T>,
  lower: LowerChunk<T>,
): { logits: T; labels: T; labelMask: T } {
  const { ops } = context;
  const { states, owners } = pairStates(context, model, input, lower);
  const ofPairs = (x: T): T =>
    ops.gather(x, ops.constant({ data: owners, shape: [owners.length] }));
  const { states: written } = decode(context, model, {
    ids: ofPairs(input.answerIds),
    buckets: input.answerBuckets,
    cross: crossKeyValues(context, model, states),
    crossMask: input.pairMask,
  });
  const logits = vocabularyLogits(context, model, written);
  return { logits, labels: ofPairs(input.labels), labelMask: ofPairs(input.labelMask) };
}

/** Questions with their passages through the upper layers: `states` [Q K, n + m, modelSize], and the question of each pair. */
function pairStates<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: Record<ChunkInput, T>,
  { questionStates, passageStates }: LowerChunk<T>,
): { states: T; owners: Int32Array } {
  const { ops } = context;
  const [questions] = ops.shape(input.labels) as [number];
  const [pairs] = ops.shape(input.passageOf) as [number];
  const owners = Int32Array.from({ length: pairs }, (_, pair) =>
    Math.floor(pair / (pairs / questions)),
  );
  const asked = ops.gather(questionStates, ops.constant({ data: owners, shape: [pairs] })); // padded on the left
  const states = upperStates(context, model, {
    states: ops.concat([asked, ops.gather(passageStates, input.passageOf)], 1),
    mask: input.pairMask,
    buckets: input.pairBuckets,
  });
  return { states, owners };
}

/** `scores` [Q, Q K] of every question of the chunk for all its passages, `ownScores` [Q, K] for its own. */
function chunkScores<T>(
  ops: Ops<T>,
  { headWeights }: TrainedParameters<T>,
  lower: LowerChunk<T>,
  { passageOf, own, labels }: Record<ChunkInput, T>,
  { tau }: RetrievalOptions,
): { scores: T; ownScores: T } {
  const scores = scoresOfBatch(ops, mix(ops, headScores(ops, lower), headWeights, tau), passageOf);
  const [questions] = ops.shape(labels);
  return {
    scores,
    ownScores: ops.reshape(ops.gather(ops.reshape(scores, [-1]), own), [questions!, -1]),
  };
}

function mix<T>(ops: Ops<T>, scores: T, headWeights: T | undefined, tau: number | undefined): T {
  return tau === undefined ? ops.sum(scores, [0]) : mixHeads(ops, scores, headWeights!, tau);
}
