/** Examples made of token ids, put into the tensors that the loss graph is fed with. */

import type { ModelConfig } from "../config.ts";
import { padBatch } from "../encoder/session.ts";
import { positionBuckets } from "../layers/relative-position.ts";
import type { Tensor } from "../tensor/ops.ts";
import { readingQuestionIds } from "../text/prompts.ts";
import type { Layout } from "./loss-graph.ts";

/** A question with its close passages, as token ids. */
export interface TokenExample {
  /** As it is retrieved: with `</s>`. */
  readonly question: readonly number[];
  /** With `</s>`. */
  readonly answer: readonly number[];
  readonly passages: readonly (readonly number[])[];
}

/** Which passages compete in the retrieval distribution of a question: those of the whole batch, or its own. */
export type Candidates = "batch" | "own";

/** The tensors of `batchSignature`. Every example has `layout.passages` passages. */
export function batchTensors(
  config: ModelConfig,
  examples: readonly TokenExample[],
  layout: Layout,
  candidates: Candidates,
): Record<string, Tensor> {
  const questions = examples.map(({ question }) => question);
  const question = padBatch([...questions, ...questions.map(readingQuestionIds)], "left", config.padId);
  const length = question.ids.shape[1]!;
  const tensors: Record<string, Tensor> = {
    questionIds: question.ids,
    questionMask: question.mask,
    questionBuckets: positionBuckets(config, "encoder", length),
    ...answerTensors(config, examples),
    ...candidateTensors(examples.length, layout.passages, candidates),
  };
  const readMask = question.mask.data.subarray(examples.length * length);
  const passageOf: number[] = [];
  let first = 0;
  let distinctBefore = 0;
  layout.groups.forEach((count, g) => {
    const { sequences, positions } = distinctSequences(
      examples.slice(first, first + count).flatMap(({ passages }) => passages),
    );
    const passage = padBatch(sequences, "right", config.padId);
    tensors[`passageIds.${g}`] = passage.ids;
    tensors[`passageMask.${g}`] = passage.mask;
    tensors[`passageBuckets.${g}`] = positionBuckets(config, "encoder", passage.ids.shape[1]!);
    tensors[`pairPassage.${g}`] = int32(positions);
    tensors[`pairBuckets.${g}`] = positionBuckets(config, "encoder", length + passage.ids.shape[1]!);
    const owners = positions.map((_, pair) => first + Math.floor(pair / layout.passages));
    tensors[`pairMask.${g}`] = joinMasks(readMask, length, owners, passage.mask, positions);
    passageOf.push(...positions.map((position) => distinctBefore + position));
    first += count;
    distinctBefore += sequences.length;
  });
  return { ...tensors, passageOf: int32(passageOf) };
}

/** The distinct sequences of a list, and the position of each member of the list among them. */
export function distinctSequences(list: readonly (readonly number[])[]): {
  sequences: (readonly number[])[];
  positions: number[];
} {
  const found = new Map<string, number>();
  const sequences: (readonly number[])[] = [];
  const positions = list.map((sequence) => {
    const key = sequence.join();
    const position = found.get(key) ?? sequences.push(sequence) - 1;
    found.set(key, position);
    return position;
  });
  return { sequences, positions };
}

/** The decoder reads the start token and the answer without its end, and is to write the answer. */
function answerTensors(config: ModelConfig, examples: readonly TokenExample[]): Record<string, Tensor> {
  const read = examples.map(({ answer }) => [config.decoderStartId, ...answer.slice(0, -1)]);
  const { ids, mask } = padBatch(read, "right", config.padId);
  const [rows, length] = ids.shape as [number, number];
  const labels = new Int32Array(rows * length);
  examples.forEach(({ answer }, row) => {
    for (const [t, label] of answer.entries())
      labels[row * length + t] = (row * length + t) * config.vocabularySize + label;
  });
  return {
    answerIds: ids,
    labelMask: mask,
    labels: { data: labels, shape: [rows, length] },
    answerBuckets: positionBuckets(config, "decoder", length),
  };
}

function candidateTensors(
  questions: number,
  passages: number,
  candidates: Candidates,
): Record<string, Tensor> {
  const pairs = questions * passages;
  const mask = new Float32Array(questions * pairs).fill(candidates === "batch" ? 1 : 0);
  const own = Int32Array.from({ length: pairs }, (_, pair) => Math.floor(pair / passages) * pairs + pair);
  for (const position of own) mask[position] = 1;
  return { candidates: { data: mask, shape: [questions, pairs] }, own: { data: own, shape: [pairs] } };
}

function joinMasks(
  questionMask: Float32Array | Int32Array,
  questionLength: number,
  owners: readonly number[],
  passageMask: Tensor,
  positions: readonly number[],
): Tensor {
  const passageLength = passageMask.shape[1]!;
  const length = questionLength + passageLength;
  const data = new Float32Array(positions.length * length);
  positions.forEach((position, pair) => {
    const [question, passage] = [owners[pair]! * questionLength, position * passageLength];
    data.set(questionMask.subarray(question, question + questionLength), pair * length);
    data.set(passageMask.data.subarray(passage, passage + passageLength), pair * length + questionLength);
  });
  return { data, shape: [positions.length, length] };
}

const int32 = (values: readonly number[]): Tensor => ({
  data: Int32Array.from(values),
  shape: [values.length],
});
