/**
 * The inputs of the model for a chunk of a batch. Letters of shapes: token-batch.ts. Questions are
 * padded on the left, passages and answers on the right. Masks have 1 for a token, 0 for padding.
 */

import { padBatch } from "../../encoder/batching.ts";
import type { ModelConfig } from "../../model/config.ts";
import { positionBuckets } from "../../model/layers/relative-position.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { readingQuestionIds } from "../../text/tokens/prompts.ts";
import { int32, type NamedTensor, perCandidate, type TokenBatch } from "./token-batch.ts";

/** The inputs of the lower layers. */
export type RetrievalInput =
  /**
   * The questions as retrieval encodes them. If the chunk is read, the questions as the reader
   * reads them follow.
   */
  | "questionIds"
  | "questionMask"
  | "questionBuckets"
  /** The different passages of the chunk. */
  | "passageIds"
  | "passageMask"
  | "passageBuckets"
  /** int32 [P]: the position of each question's own candidates in the flattened scores [Q, U] */
  | "candidatePositions"
  | "isCandidate";

/** The inputs of the upper layers and of the decoder. */
export type ReaderInput =
  /** int32 [P]: the row in `passageIds` of each candidate; any row for a padding candidate */
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
  | "labelMask";

/** Instead of the ids: states of the questions and passages that were computed before. */
export type StateInput = "questionStates" | "passageStates";

/** Instead of reading: float32 [Q, K], what a teacher said before of each candidate. */
export type TeacherInput = "teacherLogLikelihoods";

export type ModelInputs<T> = Readonly<
  Record<RetrievalInput, T> & Partial<Record<ReaderInput | StateInput | TeacherInput, T>>
>;

/** @param isRead whether an objective needs the reader */
export function modelInputs(
  config: ModelConfig,
  batch: TokenBatch,
  isRead: boolean,
): ModelInputs<NamedTensor> {
  const ids = batch.examples.map(({ question }) => question);
  const questions = isRead ? [...ids, ...ids.map(readingQuestionIds)] : ids;
  const question = padBatch(questions, "left", config.padId);
  const passage = padBatch(batch.passages, "right", config.padId);
  const rows = questions.length;
  return {
    questionIds: { ...question.ids, axes: [rows, "n"] },
    questionMask: { ...question.mask, axes: [rows, "n"] },
    questionBuckets: buckets(config, "encoder", batch.sizes.n, "n"),
    passageIds: { ...passage.ids, axes: ["U", "m"] },
    passageMask: { ...passage.mask, axes: ["U", "m"] },
    passageBuckets: buckets(config, "encoder", batch.sizes.m, "m"),
    ...candidateInputs(batch),
    ...(isRead && readerInputs(config, batch, question.mask, passage.mask)),
  };
}

/** What a teacher said of the examples of a batch before. */
export const teacherInputs = (batch: TokenBatch): Record<TeacherInput, NamedTensor> => ({
  teacherLogLikelihoods: perCandidate(
    batch,
    ({ teacherLogLikelihoods = [] }) => teacherLogLikelihoods,
  ),
});

/** Which scores are those of a question's own candidates. */
export function candidateInputs(
  batch: TokenBatch,
): Record<"candidatePositions" | "isCandidate", NamedTensor> {
  const { K, P, U } = batch.sizes;
  const positions = batch.rows.map((row, pair) => Math.floor(pair / K) * U + (row ?? 0));
  return {
    candidatePositions: int32(positions, [P], ["P"]),
    isCandidate: perCandidate(batch, ({ passages }) => passages.map(() => 1)),
  };
}

function readerInputs(
  config: ModelConfig,
  batch: TokenBatch,
  questionMask: Tensor,
  passageMask: Tensor,
): Record<ReaderInput, NamedTensor> {
  const { n, m, P } = batch.sizes;
  const rows = batch.rows.map((row) => row ?? 0);
  return {
    candidateRows: int32(rows, [P], ["P"]),
    pairMask: pairMask(batch, questionMask, passageMask),
    pairBuckets: buckets(config, "encoder", n + m, "n+m"),
    ...answerInputs(config, batch),
  };
}

const buckets = (
  config: ModelConfig,
  side: "encoder" | "decoder",
  length: number,
  axis: string,
): NamedTensor => ({ ...positionBuckets(config, side, length), axes: [axis, axis] });

/**
 * The decoder reads the start token and the answer without its last token. An empty answer is read
 * as padding and has no labels.
 */
function answerInputs(
  config: ModelConfig,
  { examples, sizes: { T } }: TokenBatch,
): Record<"answerIds" | "answerBuckets" | "labels" | "labelMask", NamedTensor> {
  const answers = examples.map(({ answer }) => (answer.length > 0 ? answer : [config.padId]));
  const labels = padBatch(answers, "right", config.padId);
  for (const [question, { answer }] of examples.entries())
    if (answer.length === 0) labels.mask.data[question * T] = 0;
  const read = answers.map((answer) => [config.decoderStartId, ...answer.slice(0, -1)]);
  return {
    answerIds: { ...padBatch(read, "right", config.padId).ids, axes: ["Q", "T"] },
    answerBuckets: buckets(config, "decoder", T, "T"),
    labels: { ...labels.ids, axes: ["Q", "T"] },
    labelMask: { ...labels.mask, axes: ["Q", "T"] },
  };
}

/**
 * [P, n + m]: the mask of each question for reading (the second half of `questions`), followed by
 * the mask of each of its candidates. All 0 where a question has fewer candidates.
 */
function pairMask(
  { rows, sizes: { n, m, K, P } }: TokenBatch,
  questions: Tensor,
  passages: Tensor,
): NamedTensor {
  const reading = questions.data.subarray(questions.data.length / 2);
  const data = new Float32Array(P * (n + m));
  for (const [pair, row] of rows.entries()) {
    if (row === undefined) continue;
    const question = Math.floor(pair / K);
    data.set(reading.subarray(question * n, (question + 1) * n), pair * (n + m));
    data.set(passages.data.subarray(row * m, (row + 1) * m), pair * (n + m) + n);
  }
  return { data, shape: [P, n + m], axes: ["P", "n+m"] };
}
