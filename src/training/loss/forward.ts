/**
 * The forward pass of the model on one chunk of a batch. Letters of shapes: graph-inputs.ts.
 *
 * `encodeChunk` runs the lower encoder layers over questions and passages separately. The two read
 * functions run the upper encoder layers over each question with each of its candidates, then the
 * decoder. `readTogether` fuses the candidates of a question; `readAlone` reads them one by one.
 */

import { copyDistribution, meanAttention } from "../../decoder/copying.ts";
import { decode, vocabularyLogits } from "../../decoder/decoder.ts";
import { targetAttention } from "../../decoder/target-attention.ts";
import {
  type EncodedTexts,
  type EncoderInput,
  headVectors,
  type LowerParameters,
  lowerStates,
  querySide,
  readingStates,
  retrievalStates,
  retrievalVectors,
} from "../../encoder/lower-layers.ts";
import { phraseQueries } from "../../encoder/phrase-queries.ts";
import { vectorMask } from "../../encoder/pooling.ts";
import { upperStates } from "../../encoder/upper-layers.ts";
import { vectorSize } from "../../model/config.ts";
import { maskBias } from "../../model/layers/attention.ts";
import { inferenceContext, type LayerContext } from "../../model/layers/context.ts";
import type { ModelParameters } from "../../model/parameters.ts";
import type { Ops } from "../../tensor/ops.ts";
import type { ReaderGraphInput, RetrievalInput, SharedStates, StateInput } from "./graph-inputs.ts";
import { type CopiedLabels, copyShares } from "./nll.ts";
import type { LossGraphOptions } from "./options.ts";
import type { RetrievalVectors } from "./retrieval-score.ts";

type EncodingInputs<T> = Readonly<
  Record<RetrievalInput, T> & Partial<Record<StateInput | SharedStates, T>>
>;
export type ReadingInputs<T> = Readonly<Record<RetrievalInput | ReaderGraphInput, T>>;

/** A chunk after the lower encoder layers. */
export interface EncodedChunk<T> extends RetrievalVectors<T> {
  /** [Q, n, modelSize]: the questions as the reader reads them, without `</s>` */
  readonly questionStates: T;
  /** [U, m, modelSize]: the passages as the reader reads them */
  readonly passageStates: T;
  /** [Q, 2, e]: of a model that has them */
  readonly phraseQueries: T | undefined;
}

/**
 * Encodes the questions for retrieval, and the different passages of a chunk. With `querySide`,
 * passages have no dropout, so that their keys are those of the index.
 */
export function encodeForRetrieval<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: EncodingInputs<T>,
  options: Pick<LossGraphOptions, "tau" | "querySide">,
): EncodedChunk<T> {
  const { questionIds: ids, questionMask: mask, questionBuckets: buckets } = input;
  const given = input.questionStates;
  const { retrieval: states, reading } = given
    ? { retrieval: given, reading: given }
    : statesFrom(context, querySide(model), { ids, mask, buckets }, input.questionShared);
  const questions = { states, ids, mask };
  const vectors = vectorsOf(context, model, input, options, questions);
  const phrases = model.phraseQueries && phraseQueries(context, model, states, mask);
  return { ...vectors, questionStates: reading, phraseQueries: phrases };
}

/** `lowerStates` of a text whose states of the shared layers may be known. */
function statesFrom<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  input: EncoderInput<T>,
  shared: T | undefined,
): { retrieval: T; reading: T } {
  // Also if they are known, so that the dropout of later layers has the same names. A traced graph
  // leaves out what no output depends on.
  const computed = readingStates(context, parameters, input);
  const reading = shared ?? computed;
  return { reading, retrieval: retrievalStates(context, parameters, reading, input) };
}

/** Encodes the questions for retrieval and for reading, and the different passages of a chunk. */
export function encodeChunk<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: ReadingInputs<T>,
  options: Pick<LossGraphOptions, "tau" | "querySide">,
): EncodedChunk<T> {
  const { retrieval, reading } = encodeQuestions(context, model, input);
  const vectors = vectorsOf(context, model, input, options, retrieval);
  const { states, mask } = retrieval;
  const phrases = model.phraseQueries && phraseQueries(context, model, states, mask);
  return { ...vectors, questionStates: reading, phraseQueries: phrases };
}

/** Vectors of encoded questions and of the passages, which it encodes. */
function vectorsOf<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: EncodingInputs<T>,
  { tau, querySide: trainedSide }: Pick<LossGraphOptions, "tau" | "querySide">,
  questions: EncodedTexts<T>,
): Omit<EncodedChunk<T>, "questionStates" | "phraseQueries"> {
  const ofPassages = trainedSide ? inferenceContext(context.ops, context.config) : context;
  const { passageIds: ids, passageMask: mask, passageBuckets: buckets } = input;
  const given = input.passageStates;
  const states = given
    ? { retrieval: given, reading: given }
    : statesFrom(ofPassages, model, { ids, mask, buckets }, input.passageShared);
  const passages = { states: states.retrieval, ids, mask };
  const { ops, config } = context;
  const vectors = tau === undefined ? scoringVectors<T> : vectorsOfHeads<T>;
  return {
    queries: vectors(context, querySide(model), questions, "query"),
    questionMask: vectorMask(ops, config, questions.mask),
    keys: vectors(ofPassages, model, passages, "key"),
    passageMask: vectorMask(ops, config, mask),
    passageStates: states.reading,
  };
}

/** The questions for retrieval (with `</s>`), and their states for reading (without). */
function encodeQuestions<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  { questionIds, questionMask, questionBuckets: buckets, labels }: ReadingInputs<T>,
): { retrieval: EncodedTexts<T>; reading: T } {
  const { ops, config } = context;
  const [questions] = ops.shape(labels);
  const halves = (x: T): [T, T] => ops.split(x, 0, [questions!, questions!]) as [T, T];
  const [ids, masks] = [halves(questionIds), halves(questionMask)];
  const asked = { ids: ids[0], mask: masks[0] };
  if (!config.queryEncoder) {
    const input = { ids: questionIds, mask: questionMask, buckets };
    const [first, reading] = halves(readingStates(context, model, input));
    const states = retrievalStates(context, model, first, { mask: masks[0], buckets });
    return { retrieval: { ...asked, states }, reading };
  }
  const { retrieval: states } = lowerStates(context, querySide(model), { ...asked, buckets });
  return {
    retrieval: { ...asked, states },
    reading: readingStates(context, model, { ids: ids[1], mask: masks[1], buckets }),
  };
}

/** The vectors that search compares: -> [batch, 1, length, e], or with pooling [batch, 1, 1, e]. */
function scoringVectors<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  texts: EncodedTexts<T>,
  projection: "query" | "key",
): T {
  const { ops, config } = context;
  const vectors = retrievalVectors(context, parameters, texts, projection);
  const [batch, count] = ops.shape(vectors);
  return ops.reshape(vectors, [batch!, 1, count!, vectorSize(config)]);
}

/** The vectors of all heads: -> [batch, H, length, e]. */
const vectorsOfHeads = <T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  texts: EncodedTexts<T>,
  projection: "query" | "key",
): T => headVectors(context, parameters, texts, projection);

/**
 * Reads all candidates of a question together (fusion in the decoder, Izacard and Grave 2021).
 *
 * -> logits [Q, T, vocabulary]; tokenAttention [Q, T, K (n + m)], the mean over heads of the last
 * decoder layer; attention [Q, K], the target attention; copy [Q, T] of a model that copies
 */
export function readTogether<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: ReadingInputs<T>,
  encoded: EncodedChunk<T>,
): { logits: T; tokenAttention: T; attention: T; copy: CopiedLabels<T> | undefined } {
  const { ops, config } = context;
  const { states, questionRows } = encodePairs(context, model, input, encoded);
  const [questions] = ops.shape(input.labels) as [number];
  const decoded = decode(context, model, {
    ids: input.answerIds,
    buckets: input.answerBuckets,
    passages: ops.reshape(states, [questions, -1, config.modelSize]),
    crossBias: maskBias(ops, ops.reshape(input.pairMask, [questions, -1])),
  });
  const { states: outputs, crossScores } = decoded;
  const tokenAttention = meanAttention(ops, crossScores);
  const ids = (): T => ops.reshape(pairIds(ops, input, questionRows), [questions, -1]);
  const copied = { states: outputs, attention: tokenAttention };
  return {
    logits: vocabularyLogits(context, model, outputs),
    tokenAttention,
    attention: targetAttention(context, crossScores, questionRows.length / questions),
    copy: copiedLabels(ops, model, copied, ids, input.labels),
  };
}

/** Reads each candidate alone: -> logits [P, T, vocabulary], the others [P, T]. */
export function readAlone<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: ReadingInputs<T>,
  encoded: EncodedChunk<T>,
): { logits: T; labels: T; labelMask: T; copy: CopiedLabels<T> | undefined } {
  const { ops } = context;
  const { states, questionRows } = encodePairs(context, model, input, encoded);
  const perPair = (x: T): T => gatherRows(ops, x, questionRows);
  const decoded = decode(context, model, {
    ids: perPair(input.answerIds),
    buckets: input.answerBuckets,
    passages: states,
    crossBias: maskBias(ops, input.pairMask),
  });
  const labels = perPair(input.labels);
  const ids = (): T => pairIds(ops, input, questionRows);
  const { states: outputs, crossScores } = decoded;
  const copied = { states: outputs, attention: meanAttention(ops, crossScores) };
  return {
    logits: vocabularyLogits(context, model, outputs),
    labels,
    labelMask: perPair(input.labelMask),
    copy: copiedLabels(ops, model, copied, ids, labels),
  };
}

/** What a model that copies gives to the labels [rows, T]. ids: makes int32 [rows, fused]. */
function copiedLabels<T>(
  ops: Ops<T>,
  model: ModelParameters<T>,
  decoded: { states: T; attention: T },
  ids: () => T,
  labels: T,
): CopiedLabels<T> | undefined {
  const copy = copyDistribution(ops, model, decoded);
  if (copy === undefined) return undefined;
  const { gate, attention } = copy;
  return { gate, shares: copyShares(ops, { attention, ids: ids(), labels }) };
}

/** The tokens of each question followed by those of one of its candidates: int32 [P, n + m]. */
function pairIds<T>(ops: Ops<T>, input: ReadingInputs<T>, questionRows: Int32Array): T {
  const [questions] = ops.shape(input.labels) as [number];
  const read = ops.slice(input.questionIds, 0, questions);
  const passages = ops.gather(input.passageIds, input.candidateRows);
  return ops.concat([gatherRows(ops, read, questionRows), passages], 1);
}

const gatherRows = <T>(ops: Ops<T>, table: T, rows: Int32Array): T =>
  ops.gather(table, ops.constant({ data: rows, shape: [rows.length] }));

/**
 * Runs the upper encoder layers over each question with each of its candidates.
 *
 * -> states [P, n + m, modelSize]; questionRows [P], the question of each pair
 */
function encodePairs<T>(
  context: LayerContext<T>,
  model: ModelParameters<T>,
  input: ReadingInputs<T>,
  { questionStates, passageStates }: EncodedChunk<T>,
): { states: T; questionRows: Int32Array } {
  const { ops } = context;
  const [questions] = ops.shape(input.labels) as [number];
  const [pairs] = ops.shape(input.candidateRows) as [number];
  const questionRows = Int32Array.from({ length: pairs }, (_, pair) =>
    Math.floor(pair / (pairs / questions)),
  );
  const repeated = gatherRows(ops, questionStates, questionRows);
  const states = upperStates(context, model, {
    states: ops.concat([repeated, ops.gather(passageStates, input.candidateRows)], 1),
    mask: input.pairMask,
    buckets: input.pairBuckets,
  });
  return { states, questionRows };
}
