/**
 * The forward pass of the model on one chunk of a batch. Letters of shapes: token-batch.ts.
 *
 * Shared and retrieval layers run over questions and passages separately. The joint layers run over
 * each question with each of its candidates, then the decoder.
 */

import { type CopyDistribution, copyDistribution, meanAttention } from "../../decoder/copying.ts";
import { type DecoderOutput, decode, vocabularyLogits } from "../../decoder/decoder.ts";
import { targetAttention } from "../../decoder/target-attention.ts";
import { jointStates } from "../../encoder/joint-layers.ts";
import { phraseQueries } from "../../encoder/phrase-queries.ts";
import { vectorMask } from "../../encoder/pooling.ts";
import {
  type EncodedTexts,
  headVectors,
  retrievalStates,
  retrievalVectors,
} from "../../encoder/retrieval-layers.ts";
import { sharedStates } from "../../encoder/shared-layers.ts";
import { vectorSize } from "../../model/config.ts";
import { maskBias } from "../../model/layers/attention.ts";
import { inferenceContext, type LayerContext } from "../../model/layers/context.ts";
import type { ModelParameters, TextParameters } from "../../model/parameters.ts";
import type { Ops } from "../../tensor/ops.ts";
import { type HeldLayers, statesFrom } from "./held-layers.ts";
import type { ModelInputs, ReaderInput } from "./model-inputs.ts";
import {
  lazily,
  type ModelOutputs,
  type OutputName,
  type RetrievalVectors,
  retrievalOutputs,
} from "./outputs.ts";
import { copyShares, labelLogProbabilities } from "./reading.ts";
import type { TrainedParameters } from "./trained-parameters.ts";

/** How the forward pass of a run differs from that of another run with the same model. */
export interface ForwardSettings {
  /** Temperature of the head weights. Without it, the configured heads retrieve. */
  readonly tau?: number | undefined;
  /** The layers that a chunk has states of, instead of token ids. */
  readonly held?: HeldLayers | undefined;
  /** Whether a chunk has what a teacher said before, instead of asking it. */
  readonly isTaught?: boolean | undefined;
}

/** The contexts of the two sides: passages whose keys do not change have no dropout. */
export interface ForwardContext<T> {
  readonly questions: LayerContext<T>;
  readonly passages: LayerContext<T>;
}

export const TEACHER = "teacherLogLikelihoods" satisfies OutputName;
const ALONE: readonly OutputName[] = ["candidateLogLikelihoods"];
const TOGETHER: readonly OutputName[] = ["answerLogProbabilities", "attention", "passageAttention"];

/** Whether outputs need the joint layers and the decoder. */
export const isRead = (
  needs: ReadonlySet<OutputName>,
  { isTaught }: Pick<ForwardSettings, "isTaught"> = {},
): boolean => (needs.has(TEACHER) && !isTaught) || readsAsTrained(needs);

/** Whether outputs need them as they are in training: not only as a teacher. */
export const readsAsTrained = (needs: ReadonlySet<OutputName>): boolean =>
  [...ALONE, ...TOGETHER].some((name) => needs.has(name));

/**
 * The outputs of a chunk. What has dropout is computed at once and in a fixed order, which gives
 * dropout its names (dropout.ts); the rest when it is first read.
 *
 * @param needs outputs of all passes over the chunk
 */
export function modelOutputs<T>(
  contexts: ForwardContext<T>,
  trained: TrainedParameters<T>,
  input: ModelInputs<T>,
  needs: ReadonlySet<OutputName>,
  settings: ForwardSettings,
): ModelOutputs<T> {
  const { questions: context } = contexts;
  const { ops } = context;
  const { model } = trained;
  const encoded = encode(contexts, model, input, isRead(needs, settings), settings);
  const vectors = vectorsOf(contexts, model, encoded, input.passageMask, settings);
  const read = input as ReadInputs<T>;
  const pairs = readsAsTrained(needs) ? encodePairs(context, model, read, encoded) : undefined;
  const together = TOGETHER.some((name) => needs.has(name))
    ? readTogether(context, model, read, pairs!)
    : undefined;
  const alone = ALONE.some((name) => needs.has(name))
    ? readAlone(context, model, read, pairs!)
    : undefined;
  return lazily<ModelOutputs<T>>({
    queries: () => vectors.queries,
    questionMask: () => vectors.questionMask,
    keys: () => vectors.keys,
    passageMask: () => vectors.passageMask,
    retrieval: () => retrievalOutputs(ops, vectors, trained, settings.tau, input),
    phraseQueries: () =>
      phraseQueries(context, model, encoded.questions.states, encoded.questions.mask),
    answerLogProbabilities: () =>
      labelLogProbabilities(ops, {
        labels: read.labels,
        labelMask: read.labelMask,
        logits: vocabularyLogits(context, model, together!.states),
        copy: copiedLabels(ops, together!.copied, () => pairIds(ops, read, pairs!), read.labels),
      }),
    attention: () =>
      ops.stopGradient(targetAttention(context, together!.crossScores, pairs!.candidates)),
    passageAttention: () => passageAttention(ops, together!.attention, read),
    candidateLogLikelihoods: () => candidateLogLikelihoods(context, model, read, pairs!, alone!),
    teacherLogLikelihoods() {
      if (settings.isTaught) return input.teacherLogLikelihoods!;
      const teacher = inferenceContext(ops, context.config);
      const encodedAlone = encodePairs(teacher, model, read, encoded);
      const answers = readAlone(teacher, model, read, encodedAlone);
      const values = candidateLogLikelihoods(teacher, model, read, encodedAlone, answers);
      return ops.stopGradient(values);
    },
  });
}

type ReadInputs<T> = ModelInputs<T> & Readonly<Record<ReaderInput, T>>;

/** A chunk after shared and retrieval layers. */
interface EncodedChunk<T> {
  /** The questions for retrieval, with `</s>`. */
  readonly questions: EncodedTexts<T>;
  /** [Q, n, sharedWidth]: the questions as they are read, without `</s>`, if they are read */
  readonly questionStates: T | undefined;
  readonly passages: EncodedTexts<T>;
  /** [U, m, sharedWidth]: the passages as the reader reads them */
  readonly passageStates: T;
}

function encode<T>(
  contexts: ForwardContext<T>,
  model: ModelParameters<T>,
  input: ModelInputs<T>,
  isRead: boolean,
  { held }: ForwardSettings,
): EncodedChunk<T> {
  const { questions, reading } = encodeQuestions(contexts.questions, model, input, isRead, held);
  const { passageIds: ids, passageMask: mask, passageBuckets: buckets } = input;
  const states = lower(contexts.passages, model, { ids, mask, buckets }, input.passageStates, held);
  return {
    questions,
    questionStates: reading,
    passages: { ids, mask, states: states.retrieval() },
    passageStates: states.reading,
  };
}

/** The questions for retrieval, and their states for reading. */
function encodeQuestions<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: ModelInputs<T>,
  isRead: boolean,
  held: HeldLayers | undefined,
): { questions: EncodedTexts<T>; reading: T | undefined } {
  const { ops, config } = context;
  const { questionIds: ids, questionMask: mask, questionBuckets: buckets } = input;
  const halves = (x: T): T[] => {
    const [rows] = ops.shape(x) as [number];
    return isRead ? ops.split(x, 0, [rows / 2, rows / 2]) : [x];
  };
  const [ofIds, ofMask] = [halves(ids), halves(mask)];
  const own = { ids: ofIds[0]!, mask: ofMask[0]! };
  if (!config.queryEncoder) {
    const { reading } = lower(context, model, { ids, mask, buckets }, input.questionStates, held);
    const [first, second] = halves(reading);
    const from = { ...own, buckets };
    const states = retrievalFrom(context, model, first!, from, input.questionStates && held);
    return { questions: { ...own, states }, reading: second };
  }
  const { retrieval } = lower(context, model.querySide, { ...own, buckets });
  const questions = { ...own, states: retrieval() };
  if (!isRead) return { questions, reading: undefined };
  const asRead = { ids: ofIds[1]!, mask: ofMask[1]!, buckets };
  return { questions, reading: sharedStates(context, model, asRead) };
}

/**
 * The states of texts for reading, and a function for those of retrieval. With held layers below
 * the reading states, `reading` are the held ones.
 */
function lower<T>(
  context: LayerContext<T>,
  parameters: TextParameters<T>,
  input: { readonly ids: T; readonly mask: T; readonly buckets: T },
  states?: T,
  held?: HeldLayers,
): { reading: T; retrieval: () => T } {
  const reading = states ?? sharedStates(context, parameters, input);
  return {
    reading,
    retrieval: () => retrievalFrom(context, parameters, reading, input, states && held),
  };
}

/** The states of retrieval from those of reading, or from those that are held. */
const retrievalFrom = <T>(
  context: LayerContext<T>,
  parameters: TextParameters<T>,
  states: T,
  input: { readonly mask: T; readonly buckets: T },
  held: HeldLayers | undefined,
): T =>
  held
    ? statesFrom(context, parameters, states, input, held)
    : retrievalStates(context, parameters, states, input);

/** What retrieval compares: of the retrieval heads together, or with `tau` of all heads apart. */
function vectorsOf<T>(
  { questions: context, passages: ofPassages }: ForwardContext<T>,
  model: ModelParameters<T>,
  { questions, passages }: EncodedChunk<T>,
  passageMask: T,
  { tau }: ForwardSettings,
): RetrievalVectors<T> {
  const { ops, config } = context;
  const vectors = tau === undefined ? scoringVectors<T> : headVectors<T>;
  return {
    queries: vectors(context, model.querySide, questions, "query"),
    questionMask: vectorMask(ops, config, questions.mask),
    keys: vectors(ofPassages, model, passages, "key"),
    passageMask: vectorMask(ops, config, passageMask),
  };
}

/** The vectors that search compares: -> [batch, 1, length, e], or with pooling [batch, 1, 1, e]. */
function scoringVectors<T>(
  context: LayerContext<T>,
  parameters: TextParameters<T>,
  texts: EncodedTexts<T>,
  projection: "query" | "key",
): T {
  const { ops, config } = context;
  const vectors = retrievalVectors(context, parameters, texts, projection);
  const [batch, count] = ops.shape(vectors);
  return ops.reshape(vectors, [batch!, 1, count!, vectorSize(config)]);
}

/** Questions with their candidates after the joint layers. */
interface EncodedPairs<T> {
  /** [P, n + m, modelSize] */
  readonly states: T;
  /** The question of each pair. [P] */
  readonly questionRows: Int32Array;
  /** K */
  readonly candidates: number;
}

/** Runs the joint layers over each question with each of its candidates. */
function encodePairs<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: ReadInputs<T>,
  { questionStates, passageStates }: EncodedChunk<T>,
): EncodedPairs<T> {
  const { ops } = context;
  const [questions, candidates] = ops.shape(input.isCandidate) as [number, number];
  const questionRows = Int32Array.from({ length: questions * candidates }, (_, pair) =>
    Math.floor(pair / candidates),
  );
  const repeated = gatherRows(ops, questionStates!, questionRows);
  const states = jointStates(context, model, {
    states: ops.concat([repeated, ops.gather(passageStates, input.candidateRows)], 1),
    mask: input.pairMask,
    buckets: input.pairBuckets,
  });
  return { states, questionRows, candidates };
}

/** A decoder that has read passages, one row for each answer. */
interface DecodedAnswers<T> extends DecoderOutput<T> {
  /** [rows, T, fused]: the mean over heads of the last layer's cross-attention */
  readonly attention: T;
  readonly copied: CopyDistribution<T> | undefined;
}

function decoded<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: Parameters<typeof decode<T>>[2],
): DecodedAnswers<T> {
  const { ops } = context;
  const output = decode(context, model, input);
  const attention = meanAttention(ops, output.crossScores);
  const copied = copyDistribution(ops, model, { states: output.states, attention });
  return { ...output, attention, copied };
}

/** Reads all candidates of a question together. */
function readTogether<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: ReadInputs<T>,
  { states }: EncodedPairs<T>,
): DecodedAnswers<T> {
  const { ops, config } = context;
  const [questions] = ops.shape(input.labels);
  return decoded(context, model, {
    ids: input.answerIds,
    buckets: input.answerBuckets,
    passages: ops.reshape(states, [questions!, -1, config.modelSize]),
    crossBias: maskBias(ops, ops.reshape(input.pairMask, [questions!, -1])),
  });
}

/** Reads each candidate alone. */
function readAlone<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: ReadInputs<T>,
  { states, questionRows }: EncodedPairs<T>,
): DecodedAnswers<T> {
  const { ops } = context;
  return decoded(context, model, {
    ids: gatherRows(ops, input.answerIds, questionRows),
    buckets: input.answerBuckets,
    passages: states,
    crossBias: maskBias(ops, input.pairMask),
  });
}

/** log P(answer | question, candidate): -> [Q, K]. */
function candidateLogLikelihoods<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: ReadInputs<T>,
  pairs: EncodedPairs<T>,
  { states, copied }: DecodedAnswers<T>,
): T {
  const { ops } = context;
  const perPair = (x: T): T => gatherRows(ops, x, pairs.questionRows);
  const labels = perPair(input.labels);
  const ofLabels = labelLogProbabilities(ops, {
    labels,
    labelMask: perPair(input.labelMask),
    logits: vocabularyLogits(context, model, states),
    copy: copiedLabels(ops, copied, () => pairIds(ops, input, pairs), labels),
  });
  return ops.reshape(ops.sum(ofLabels, [1]), ops.shape(input.isCandidate));
}

/**
 * What a model that copies gives to the labels [rows, T].
 *
 * @param ids makes int32 [P, n + m], the tokens that each row of `labels` can copy, side by side
 */
function copiedLabels<T>(
  ops: Ops<T>,
  copied: CopyDistribution<T> | undefined,
  ids: () => T,
  labels: T,
) {
  if (copied === undefined) return undefined;
  const { gate, attention } = copied;
  const [rows] = ops.shape(labels);
  const fused = ops.reshape(ids(), [rows!, -1]);
  return { gate, shares: copyShares(ops, { attention, ids: fused, labels }) };
}

/** The tokens of each question, as it is read, and of one of its candidates: int32 [P, n + m]. */
function pairIds<T>(ops: Ops<T>, input: ReadInputs<T>, { questionRows }: EncodedPairs<T>): T {
  const [questions] = ops.shape(input.labels) as [number];
  const read = ops.slice(input.questionIds, 0, questions);
  const passages = ops.gather(input.passageIds, input.candidateRows);
  return ops.concat([gatherRows(ops, read, questionRows), passages], 1);
}

/** The part of the attention that falls on the tokens of passages: [Q, T, K (n + m)] -> [.. m]. */
function passageAttention<T>(ops: Ops<T>, attention: T, input: ReadInputs<T>): T {
  const [questions, candidates] = ops.shape(input.isCandidate);
  const [, T] = ops.shape(input.labels);
  const [n, m] = [input.questionMask, input.passageMask].map((mask) => ops.shape(mask)[1]!);
  const ofPairs = ops.reshape(attention, [questions!, T!, candidates!, -1]);
  return ops.split(ofPairs, 3, [n!, m!])[1]!;
}

const gatherRows = <T>(ops: Ops<T>, table: T, rows: Int32Array): T =>
  ops.gather(table, ops.constant({ data: rows, shape: [rows.length] }));
