/**
 * Turns the examples of a batch into the tensors of `chunkInputs` (graph-inputs.ts, which also
 * names the letters of shapes).
 */

import { padBatch } from "../../encoder/lower-session.ts";
import type { ModelConfig } from "../../model/config.ts";
import { positionBuckets } from "../../model/layers/relative-position.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { readingQuestionIds } from "../../text/prompts.ts";
import type { Sequences } from "./dropout.ts";
import type { ChunkInput } from "./graph-inputs.ts";

/** A question with its answer and its candidates, as token ids. */
export interface TokenExample {
  /** As retrieval encodes it, with `</s>`. */
  readonly question: readonly number[];
  /** With `</s>`. */
  readonly answer: readonly number[];
  /** The candidates, each with `</s>`. */
  readonly passages: readonly (readonly number[])[];
  /** The index in `passages` of the passage that is labelled relevant. */
  readonly relevant?: number | undefined;
}

/** Examples of a batch that are computed together. */
export interface Chunk {
  readonly questions: number;
  /** K: candidates of each question */
  readonly candidates: number;
  readonly tensors: Record<ChunkInput, Tensor>;
  /** The token sequences in tensors with the second axis n, m, n+m or T, for dropout. */
  readonly sequences: Readonly<Record<"n" | "m" | "n+m" | "T", Sequences>>;
}

/** Splits a batch into chunks of `size` questions. All examples have equally many passages. */
export function chunksOf(
  config: ModelConfig,
  examples: readonly TokenExample[],
  size: number,
  inBatchNegatives: boolean,
): Chunk[] {
  const labels = examples.reduce((sum, { answer }) => sum + answer.length, 0);
  const totals = { batchQuestions: scalar(examples.length), batchLabels: scalar(labels) };
  const count = Math.ceil(examples.length / size);
  return Array.from({ length: count }, (_, i) => {
    const first = i * size;
    return chunkOf(config, examples.slice(first, first + size), first, totals, inBatchNegatives);
  });
}

/** `first` is the index in the batch of the chunk's first example. */
function chunkOf(
  config: ModelConfig,
  examples: readonly TokenExample[],
  first: number,
  totals: Record<"batchQuestions" | "batchLabels", Tensor>,
  inBatchNegatives: boolean,
): Chunk {
  const questionIds = examples.map(({ question }) => question);
  const question = padBatch(
    [...questionIds, ...questionIds.map(readingQuestionIds)],
    "left",
    config.padId,
  );
  const { sequences, positions } = distinctSequences(examples.flatMap(({ passages }) => passages));
  const passage = padBatch(sequences, "right", config.padId);
  const answer = answerTensors(config, examples);
  const [n, m, T] = [question, passage, { ids: answer.answerIds }].map(
    ({ ids }) => ids.shape[1]!,
  ) as [number, number, number];
  const [questions, candidates] = [examples.length, positions.length / examples.length];
  return {
    questions,
    candidates,
    tensors: {
      questionIds: question.ids,
      questionMask: question.mask,
      questionBuckets: positionBuckets(config, "encoder", n),
      passageIds: passage.ids,
      passageMask: passage.mask,
      passageBuckets: positionBuckets(config, "encoder", m),
      candidateRows: int32(positions),
      pairMask: pairMask(question.mask, passage.mask, positions, candidates),
      pairBuckets: positionBuckets(config, "encoder", n + m),
      ...answer,
      copyMask: copyMask(examples, n, m, T),
      normaliserMask: normaliserMask(questions, candidates, inBatchNegatives),
      candidatePositions: int32(candidatePositions(questions, candidates)),
      relevance: relevance(examples, candidates),
      ...totals,
    },
    sequences: chunkSequences(sequences, { first, questions, candidates, n, m, T }),
  };
}

/** The names of sequences determine their dropout masks. They do not depend on the chunk. */
function chunkSequences(
  passages: readonly (readonly number[])[],
  sizes: Readonly<Record<"first" | "questions" | "candidates" | "n" | "m" | "T", number>>,
): Chunk["sequences"] {
  const { first, questions, candidates, n, m, T } = sizes;
  const names = Array.from({ length: questions }, (_, i) => `${first + i}`);
  const pairs = Array.from(
    { length: questions * candidates },
    (_, pair) => `${names[Math.floor(pair / candidates)]} ${pair % candidates}`,
  );
  return {
    n: { names: [...names.map((name) => `${name} </s>`), ...names], length: n, origin: n },
    m: { names: passages.map((ids) => ids.join()), length: m, origin: 0 },
    "n+m": { names: pairs, length: n + m, origin: n },
    T: { names, length: T, origin: 0 },
  };
}

/** The different sequences of a list, and for each member of the list its position among them. */
function distinctSequences(list: readonly (readonly number[])[]): {
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

/** The decoder reads the start token and the answer without its last token. */
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

/**
 * [Q, T, K (n + m)]: 1 where a token of a candidate is the t-th token of an occurrence of the whole
 * answer, without `</s>`.
 */
function copyMask(examples: readonly TokenExample[], n: number, m: number, T: number): Tensor {
  const candidates = examples[0]!.passages.length;
  const fused = candidates * (n + m);
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

/** The positions in `whole` where `part` begins; none if `part` is empty. */
function occurrences(part: readonly number[], whole: readonly number[]): number[] {
  const starts = part.length === 0 ? [] : whole.flatMap((id, i) => (id === part[0] ? [i] : []));
  return starts.filter((start) => part.every((id, t) => whole[start + t] === id));
}

/**
 * float32 [Q, P]: 1 for the passages that count in the normaliser of a question. These are all
 * candidates of all questions with in-batch negatives, and the question's own candidates without.
 */
export function normaliserMask(
  questions: number,
  candidates: number,
  inBatchNegatives: boolean,
): Tensor {
  const shape = [questions, questions * candidates];
  const data = new Float32Array(questions * questions * candidates);
  if (inBatchNegatives) return { data: data.fill(1), shape };
  for (const position of candidatePositions(questions, candidates)) data[position] = 1;
  return { data, shape };
}

/** The positions of each question's own candidates in the flattened [Q, P]. */
function candidatePositions(questions: number, candidates: number): number[] {
  const pairs = questions * candidates;
  return Array.from({ length: pairs }, (_, pair) => Math.floor(pair / candidates) * pairs + pair);
}

function relevance(examples: readonly TokenExample[], candidates: number): Tensor {
  const data = new Float32Array(examples.length * candidates);
  examples.forEach(({ relevant }, question) => {
    if (relevant !== undefined) data[question * candidates + relevant] = 1;
  });
  return { data, shape: [examples.length, candidates] };
}

/**
 * [P, n + m]: the mask of each question for reading (the second half of `questions`), followed by
 * the mask of each of its candidates.
 */
function pairMask(
  questions: Tensor,
  passages: Tensor,
  positions: readonly number[],
  candidates: number,
): Tensor {
  const [n, m] = [questions.shape[1]!, passages.shape[1]!];
  const reading = questions.data.subarray(questions.data.length / 2);
  const data = new Float32Array(positions.length * (n + m));
  positions.forEach((position, pair) => {
    const question = Math.floor(pair / candidates);
    data.set(reading.subarray(question * n, (question + 1) * n), pair * (n + m));
    data.set(passages.data.subarray(position * m, (position + 1) * m), pair * (n + m) + n);
  });
  return { data, shape: [positions.length, n + m] };
}

const int32 = (values: readonly number[]): Tensor => ({
  data: Int32Array.from(values),
  shape: [values.length],
});

const scalar = (value: number): Tensor => ({ data: Float32Array.of(value), shape: [] });
