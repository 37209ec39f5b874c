/** Examples made of token ids, put into the tensors that the loss graph is fed with. */

import { padBatch } from "../../encoder/batching.ts";
import type { ModelConfig } from "../../model/config.ts";
import { positionBuckets } from "../../model/layers/relative-position.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { readingQuestionIds } from "../../text/prompts.ts";
import type { Sequences } from "./dropout.ts";
import type { ChunkInput } from "./graph-inputs.ts";

/** A question with its close passages, as token ids. */
export interface TokenExample {
  /** As it is retrieved: with `</s>`. */
  readonly question: readonly number[];
  /** With `</s>`. */
  readonly answer: readonly number[];
  readonly passages: readonly (readonly number[])[];
  /** The place of the passage that is known to be relevant, where one is. */
  readonly relevant?: number | undefined;
}

/** Which passages compete in the retrieval distribution of a question: those of the whole batch, or its own. */

/** Some examples of a batch that are computed together. */
export interface Chunk {
  readonly questions: number;
  readonly passages: number;
  /** The tensors of `chunkSignature`. */
  readonly tensors: Record<ChunkInput, Tensor>;
  /** What stands in the tensors whose second axis has the name n, m, n+m or T. */
  readonly sequences: Readonly<Record<"n" | "m" | "n+m" | "T", Sequences>>;
}

/** Divides a batch, whose examples have equally many passages, into chunks of `size` questions. */
export function chunksOf(
  config: ModelConfig,
  examples: readonly TokenExample[],
  size: number,
  inBatchNegatives: boolean,
): Chunk[] {
  const labels = examples.reduce((sum, { answer }) => sum + answer.length, 0);
  const totals = { questionsOfBatch: scalar(examples.length), labelsOfBatch: scalar(labels) };
  const count = Math.ceil(examples.length / size);
  return Array.from({ length: count }, (_, i) => {
    const first = i * size;
    return chunkOf(config, examples.slice(first, first + size), first, totals, inBatchNegatives);
  });
}

/** `first` is the number of the chunk's first example in the batch. */
function chunkOf(
  config: ModelConfig,
  examples: readonly TokenExample[],
  first: number,
  totals: Record<"questionsOfBatch" | "labelsOfBatch", Tensor>,
  inBatchNegatives: boolean,
): Chunk {
  const questions = examples.map(({ question }) => question);
  const question = padBatch(
    [...questions, ...questions.map(readingQuestionIds)],
    "left",
    config.padId,
  );
  const { sequences, positions } = distinctSequences(examples.flatMap(({ passages }) => passages));
  const passage = padBatch(sequences, "right", config.padId);
  const [n, m] = [question.ids.shape[1]!, passage.ids.shape[1]!];
  const passages = positions.length / examples.length;
  const answer = answerTensors(config, examples);
  const numbers = examples.map((_, i) => `${first + i}`);
  const pairs = positions.map(
    (_, pair) => `${numbers[Math.floor(pair / passages)]} ${pair % passages}`,
  );
  return {
    questions: examples.length,
    passages,
    tensors: {
      questionIds: question.ids,
      questionMask: question.mask,
      questionBuckets: positionBuckets(config, "encoder", n),
      passageIds: passage.ids,
      passageMask: passage.mask,
      passageBuckets: positionBuckets(config, "encoder", m),
      passageOf: int32(positions),
      pairMask: pairMask(question.mask, passage.mask, positions, passages),
      pairBuckets: positionBuckets(config, "encoder", n + m),
      ...answer,
      answerTokens: answerTokens(examples, n, m, answer.answerIds.shape[1]!),
      candidates: candidateMask(examples.length, passages, inBatchNegatives),
      own: ownPositions(examples.length, passages),
      relevance: relevance(examples, passages),
      ...totals,
    },
    sequences: {
      n: {
        names: [...numbers.map((number) => `${number} </s>`), ...numbers],
        length: n,
        origin: n,
      },
      m: { names: sequences.map((sequence) => sequence.join()), length: m, origin: 0 },
      "n+m": { names: pairs, length: n + m, origin: n },
      T: { names: numbers, length: answer.answerIds.shape[1]!, origin: 0 },
    },
  };
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
function answerTensors(
  config: ModelConfig,
  examples: readonly TokenExample[],
): Record<"answerIds" | "answerBuckets" | "labels" | "labelMask", Tensor> {
  const answers = examples.map(({ answer }) => answer);
  const labels = padBatch(answers, "right", config.padId);
  const read = answers.map((answer) => [config.decoderStartId, ...answer.slice(0, -1)]);
  return {
    answerIds: padBatch(read, "right", config.padId).ids,
    answerBuckets: positionBuckets(config, "decoder", labels.ids.shape[1]!),
    labels: labels.ids,
    labelMask: labels.mask,
  };
}

/** [Q, T, K (n + m)]: 1 for the tokens of passages that are the answer's t-th where the answer stands as a whole. */
function answerTokens(examples: readonly TokenExample[], n: number, m: number, T: number): Tensor {
  const each = examples[0]!.passages.length;
  const fused = each * (n + m);
  const data = new Float32Array(examples.length * T * fused);
  examples.forEach(({ answer, passages }, question) => {
    const text = answer.slice(0, -1); // without </s>
    passages.forEach((passage, k) => {
      for (const start of occurrences(text, passage))
        text.forEach((_, t) => {
          data[(question * T + t) * fused + k * (n + m) + n + start + t] = 1;
        });
    });
  });
  return { data, shape: [examples.length, T, fused] };
}

/** Where `part` begins in `whole`; nowhere if it is empty. */
function occurrences(part: readonly number[], whole: readonly number[]): number[] {
  const starts = part.length === 0 ? [] : whole.flatMap((id, i) => (id === part[0] ? [i] : []));
  return starts.filter((start) => part.every((id, t) => whole[start + t] === id));
}

/** 1 for each passage [Q, Q * each] that competes for a question. */
export function candidateMask(questions: number, each: number, inBatchNegatives: boolean): Tensor {
  const data = new Float32Array(questions * questions * each).fill(inBatchNegatives ? 1 : 0);
  for (const position of ownPositions(questions, each).data) data[position] = 1;
  return { data, shape: [questions, questions * each] };
}

function ownPositions(questions: number, each: number): Tensor {
  const pairs = questions * each;
  return int32(Array.from({ length: pairs }, (_, pair) => Math.floor(pair / each) * pairs + pair));
}

function relevance(examples: readonly TokenExample[], each: number): Tensor {
  const data = new Float32Array(examples.length * each);
  examples.forEach(({ relevant }, question) => {
    if (relevant !== undefined) data[question * each + relevant] = 1;
  });
  return { data, shape: [examples.length, each] };
}

/** The masks of each question as it is read, the second half of `questions`, and of each of its passages, side by side. */
function pairMask(
  questions: Tensor,
  passages: Tensor,
  positions: readonly number[],
  each: number,
): Tensor {
  const [n, m] = [questions.shape[1]!, passages.shape[1]!];
  const read = questions.data.subarray(questions.data.length / 2);
  const data = new Float32Array(positions.length * (n + m));
  positions.forEach((position, pair) => {
    const owner = Math.floor(pair / each);
    data.set(read.subarray(owner * n, (owner + 1) * n), pair * (n + m));
    data.set(passages.data.subarray(position * m, (position + 1) * m), pair * (n + m) + n);
  });
  return { data, shape: [positions.length, n + m] };
}

const int32 = (values: readonly number[]): Tensor => ({
  data: Int32Array.from(values),
  shape: [values.length],
});

const scalar = (value: number): Tensor => ({ data: Float32Array.of(value), shape: [] });
