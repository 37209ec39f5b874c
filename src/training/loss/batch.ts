/**
 * Turns the examples of a batch into the tensors of `chunkInputs` (graph-inputs.ts, which also
 * names the letters of shapes).
 */

import { type PaddedBatch, padBatch } from "../../encoder/batching.ts";
import type { ModelConfig } from "../../model/config.ts";
import { positionBuckets } from "../../model/layers/relative-position.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { readingQuestionIds } from "../../text/prompts.ts";
import type { Sequences } from "./dropout.ts";
import type {
  ChunkInput,
  ChunkInputs,
  ChunkSizes,
  PhraseInput,
  ReaderGraphInput,
  ScoreInput,
} from "./graph-inputs.ts";
import {
  type ChunkPassages,
  isCounted,
  type NormaliserOptions,
  normaliserBias,
  passageName,
  type QuestionPassages,
} from "./normaliser-bias.ts";
import { learnsPhrases, type ObjectiveName } from "./options.ts";
import { givenDistribution } from "./retrieval-only.ts";

/** A question with its answer and its candidates, as token ids. */
export interface TokenExample {
  /** As retrieval encodes it, with `</s>`. */
  readonly question: readonly number[];
  /** With `</s>`. Empty if the example trains retrieval only. */
  readonly answer: readonly number[];
  /**
   * The candidates, each with `</s>`. Questions of a batch can have different numbers of them. Of
   * equal candidates, only the first counts.
   */
  readonly passages: readonly (readonly number[])[];
  /** The positives: indexes in `passages` of those that are known to be relevant. */
  readonly positives?: readonly number[] | undefined;
  /** For each candidate, the score that is given with the data, if any. For `retrieval`. */
  readonly scores?: readonly (number | undefined)[] | undefined;
  /** Where the answer stands in the positives, for the phrase loss. */
  readonly phrases?: readonly AnswerPhrase[] | undefined;
  /** Passages that are relevant, or probably relevant: they are not negatives of the question. */
  readonly notNegatives?: readonly (readonly number[])[] | undefined;
}

/** The answer in a passage: the index in `passages`, and the first and the last token. */
export type AnswerPhrase = Readonly<Record<"candidate" | "first" | "last", number>>;

export interface BatchOptions extends NormaliserOptions {
  readonly objective: ObjectiveName;
  /** Divides given scores. Default 1. */
  readonly scoreTemperature?: number | undefined;
  /** Weight of the phrase loss. Default 0. */
  readonly phraseLoss?: number | undefined;
}

/** Examples of a batch that are computed together. */
export interface Chunk extends ChunkSizes {
  readonly objective: ObjectiveName;
  /** Without the inputs of other objectives. */
  readonly tensors: Record<ChunkInput, Tensor>;
  /** The token sequences in tensors with the second axis n, m, n+m or T, for dropout. */
  readonly sequences: Readonly<Record<"n" | "m" | "n+m" | "T", Sequences>>;
  readonly passages: ChunkPassages;
}

/** What the chunks of a batch share. */
interface SharedByChunks {
  /** K */
  readonly candidates: number;
  readonly totals: Record<"batchQuestions" | "batchLabels", Tensor>;
  /** The number of questions that have a phrase. */
  readonly phrases: number;
}

/** Splits a batch into chunks of `size` questions. */
export function chunksOf(
  config: ModelConfig,
  examples: readonly TokenExample[],
  size: number,
  options: BatchOptions,
): Chunk[] {
  const batch = examples.map(withDistinctPassages);
  const labels = batch.reduce((sum, { answer }) => sum + answer.length, 0);
  const targets = batch.filter((example) => hasTarget(example, options.objective)).length;
  const shared: SharedByChunks = {
    candidates: Math.max(...batch.map(({ passages }) => passages.length)),
    // A batch without labels or without targets has the loss 0 / 1.
    totals: {
      batchQuestions: scalar(Math.max(1, targets)),
      batchLabels: scalar(Math.max(1, labels)),
    },
    phrases: batch.filter((example) => hasPhrase(example, options.objective)).length,
  };
  const count = Math.ceil(batch.length / size);
  return Array.from({ length: count }, (_, i) => {
    const first = i * size;
    return chunkOf(config, batch.slice(first, first + size), first, shared, options);
  });
}

function withDistinctPassages(example: TokenExample): TokenExample {
  const { sequences, positions } = distinctSequences(example.passages);
  const positives = new Set(example.positives?.map((candidate) => positions[candidate]!));
  const scores = sequences.map((_, k) => example.scores?.[positions.indexOf(k)]);
  const phrases = example.phrases?.map((phrase) => ({
    ...phrase,
    candidate: positions[phrase.candidate]!,
  }));
  return { ...example, passages: sequences, positives: [...positives], scores, phrases };
}

/** Whether retrieval learns from a question. Questions that read have a target attention. */
const hasTarget = ({ positives = [], scores = [] }: TokenExample, objective: ObjectiveName) =>
  objective !== "retrieval" || positives.length > 0 || scores.some((score) => score !== undefined);

/** Whether phrases learn from a question. Questions that read have what the decoder looks at. */
const hasPhrase = ({ phrases, answer }: TokenExample, objective: ObjectiveName): boolean =>
  objective === "retrieval" ? Boolean(phrases?.length) : answer.length > 1;

/** `first` is the index in the batch of the chunk's first example. */
function chunkOf(
  config: ModelConfig,
  examples: readonly TokenExample[],
  first: number,
  { candidates, totals, phrases }: SharedByChunks,
  options: BatchOptions,
): Chunk {
  const { objective } = options;
  const isRead = objective !== "retrieval";
  const hasPhrases = Boolean(options.phraseLoss) && learnsPhrases(objective);
  const questionIds = examples.map(({ question }) => question);
  const question = padBatch(
    [...questionIds, ...(isRead ? questionIds.map(readingQuestionIds) : [])],
    "left",
    config.padId,
  );
  const { sequences, positions } = distinctSequences(examples.flatMap(({ passages }) => passages));
  const rows = withPadding(examples, positions, candidates);
  const passage = padBatch(sequences, "right", config.padId);
  const [n, m] = [question.ids.shape[1]!, passage.ids.shape[1]!];
  const read = isRead
    ? readingTensors(config, examples, question, passage, rows, candidates)
    : undefined;
  const T = read?.answerIds.shape[1] ?? 0;
  const questions = examples.length;
  const passages = {
    names: sequences.map(passageName),
    questions: examples.map((example) => questionPassages(example, objective)),
  };
  const tensors: ChunkInputs<Tensor> = {
    questionIds: question.ids,
    questionMask: question.mask,
    questionBuckets: positionBuckets(config, "encoder", n),
    passageIds: passage.ids,
    passageMask: passage.mask,
    passageBuckets: positionBuckets(config, "encoder", m),
    normaliserBias: normaliserBias([passages], options),
    candidatePositions: int32(candidatePositions(rows, candidates, sequences.length)),
    ...candidateTensors(examples, passages.questions, candidates, objective),
    batchQuestions: totals.batchQuestions,
    ...(read
      ? { ...read, batchLabels: totals.batchLabels }
      : scoreTensors(examples, candidates, options)),
    ...(hasPhrases &&
      (isRead
        ? turnTensors(examples, T, phrases)
        : phraseTensors(examples, rows, passage.ids.shape, { candidates, phrases }))),
  };
  return {
    objective,
    questions,
    candidates,
    hasPhrases,
    tensors: tensors as Chunk["tensors"],
    sequences: chunkSequences(sequences, { first, questions, candidates, n, m, T }),
    passages,
  };
}

/** The inputs of the upper layers and of the decoder. */
function readingTensors(
  config: ModelConfig,
  examples: readonly TokenExample[],
  question: PaddedBatch,
  passage: PaddedBatch,
  rows: readonly (number | undefined)[],
  candidates: number,
): Omit<Record<ReaderGraphInput, Tensor>, "batchLabels"> {
  const answer = answerTensors(config, examples);
  const [n, m, T] = [question.ids, passage.ids, answer.answerIds].map(({ shape }) => shape[1]!) as [
    number,
    number,
    number,
  ];
  return {
    candidateRows: int32(rows.map((row) => row ?? 0)),
    pairMask: pairMask(question.mask, passage.mask, rows, candidates),
    pairBuckets: positionBuckets(config, "encoder", n + m),
    ...answer,
    copyMask: copyMask(examples, candidates, { n, m, T }),
  };
}

/** float32 [Q, K] each. */
function scoreTensors(
  examples: readonly TokenExample[],
  candidates: number,
  { scoreTemperature = 1 }: BatchOptions,
): Record<ScoreInput, Tensor> {
  const shape = [examples.length, candidates];
  const softTargets = new Float32Array(examples.length * candidates);
  const scoredMask = new Float32Array(softTargets.length);
  examples.forEach(({ scores = [] }, question) => {
    const row = question * candidates;
    softTargets.set(givenDistribution(scores, scoreTemperature), row);
    scoredMask.set(
      scores.map((score) => Number(score !== undefined)),
      row,
    );
  });
  return { softTargets: { data: softTargets, shape }, scoredMask: { data: scoredMask, shape } };
}

/** `rows` has the row in [U, m] of each candidate. */
function phraseTensors(
  examples: readonly TokenExample[],
  rows: readonly (number | undefined)[],
  [U, m]: readonly number[],
  { candidates, phrases }: Pick<SharedByChunks, "candidates" | "phrases">,
): Partial<Record<PhraseInput, Tensor>> {
  const [Q, tokens] = [examples.length, U! * m!];
  const answers = new Float32Array(Q * 2 * tokens);
  const passages = new Float32Array(Q * U!);
  const weights = new Float32Array(Q);
  examples.forEach((example, question) => {
    for (const { candidate, first, last } of example.phrases ?? []) {
      const row = rows[question * candidates + candidate]!;
      answers[2 * question * tokens + row * m! + first] = 1;
      answers[(2 * question + 1) * tokens + row * m! + last] = 1;
      passages[question * U! + row] = 1;
      weights[question] = 1 / phrases;
    }
  });
  return {
    phraseAnswers: { data: answers, shape: [Q, 2, U!, m!] },
    phrasePassages: { data: passages, shape: [Q, U!] },
    phraseWeights: { data: weights, shape: [Q] },
  };
}

/** The first and the last token of each answer, without `</s>`. */
function turnTensors(
  examples: readonly TokenExample[],
  T: number,
  phrases: number,
): Partial<Record<PhraseInput, Tensor>> {
  const Q = examples.length;
  const turns = new Float32Array(Q * 2 * T);
  const weights = new Float32Array(Q);
  examples.forEach(({ answer }, question) => {
    if (answer.length < 2) return;
    turns[2 * question * T] = 1;
    turns[(2 * question + 1) * T + answer.length - 2] = 1;
    weights[question] = 1 / phrases;
  });
  return {
    phraseTurns: { data: turns, shape: [Q, 2, T] },
    phraseWeights: { data: weights, shape: [Q] },
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
    m: { names: passages.map(passageName), length: m, origin: 0 },
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
    const name = passageName(sequence);
    const position = found.get(name) ?? sequences.push(sequence) - 1;
    found.set(name, position);
    return position;
  });
  return { sequences, positions };
}

/**
 * The values of the candidates of all questions, padded to K for each question: undefined where a
 * question has fewer candidates. -> [P]
 */
function withPadding<T>(
  examples: readonly TokenExample[],
  values: readonly T[],
  candidates: number,
): (T | undefined)[] {
  let first = 0;
  return examples.flatMap(({ passages }) => {
    const own = values.slice(first, first + passages.length);
    first += passages.length;
    return Array.from({ length: candidates }, (_, k) => own[k]);
  });
}

/**
 * The decoder reads the start token and the answer without its last token. An empty answer is read
 * as padding and has no labels.
 */
function answerTensors(
  config: ModelConfig,
  examples: readonly TokenExample[],
): Record<"answerIds" | "answerBuckets" | "labels" | "labelMask", Tensor> {
  const answers = examples.map(({ answer }) => (answer.length > 0 ? answer : [config.padId]));
  const labels = padBatch(answers, "right", config.padId);
  const T = labels.ids.shape[1]!;
  for (const [question, { answer }] of examples.entries())
    if (answer.length === 0) labels.mask.data[question * T] = 0;
  const read = answers.map((answer) => [config.decoderStartId, ...answer.slice(0, -1)]);
  return {
    answerIds: padBatch(read, "right", config.padId).ids,
    answerBuckets: positionBuckets(config, "decoder", T),
    labels: labels.ids,
    labelMask: labels.mask,
  };
}

/**
 * [Q, T, K (n + m)]: 1 where a token of a candidate is the t-th token of an occurrence of the whole
 * answer, without `</s>`.
 */
function copyMask(
  examples: readonly TokenExample[],
  candidates: number,
  { n, m, T }: Readonly<Record<"n" | "m" | "T", number>>,
): Tensor {
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
 * Whether the target of a question is its positives, and not the target attention. An example that
 * trains retrieval only has no answer, and so no target attention.
 */
const hasKnownTarget = (
  { positives = [], answer }: TokenExample,
  objective: ObjectiveName,
): boolean =>
  positives.length > 0 &&
  (objective === "supervised" || objective === "retrieval" || answer.length === 0);

function questionPassages(example: TokenExample, objective: ObjectiveName): QuestionPassages {
  const { passages, positives = [], notNegatives = [] } = example;
  // Without reading, a question without positives has no target.
  const isKnown = hasKnownTarget(example, objective) || objective === "retrieval";
  const targets = isKnown ? positives.map((candidate) => passages[candidate]!) : passages;
  return {
    candidates: new Set(passages.map(passageName)),
    targets: new Set(targets.map(passageName)),
    notNegatives: new Set(notNegatives.map(passageName)),
  };
}

/** The positions of each question's own candidates in the flattened scores [Q, U]: -> [P]. */
const candidatePositions = (
  rows: readonly (number | undefined)[],
  candidates: number,
  passages: number,
): number[] => rows.map((row, pair) => Math.floor(pair / candidates) * passages + (row ?? 0));

/** float32 [Q, K]: the candidates that count in the normaliser, and the known targets. */
function candidateTensors(
  examples: readonly TokenExample[],
  passages: readonly QuestionPassages[],
  candidates: number,
  objective: ObjectiveName,
): Record<"candidateMask" | "positives", Tensor> {
  const shape = [examples.length, candidates];
  const mask = new Float32Array(examples.length * candidates);
  const positives = new Float32Array(mask.length);
  examples.forEach((example, question) => {
    example.passages.forEach((passage, k) => {
      const counts = isCounted(passages[question]!, passageName(passage));
      mask[question * candidates + k] = Number(counts);
    });
    if (!hasKnownTarget(example, objective)) return;
    for (const k of example.positives!) positives[question * candidates + k] = 1;
  });
  return { candidateMask: { data: mask, shape }, positives: { data: positives, shape } };
}

/**
 * [P, n + m]: the mask of each question for reading (the second half of `questions`), followed by
 * the mask of each of its candidates. All 0 where a question has fewer candidates.
 */
function pairMask(
  questions: Tensor,
  passages: Tensor,
  rows: readonly (number | undefined)[],
  candidates: number,
): Tensor {
  const [n, m] = [questions.shape[1]!, passages.shape[1]!];
  const reading = questions.data.subarray(questions.data.length / 2);
  const data = new Float32Array(rows.length * (n + m));
  rows.forEach((row, pair) => {
    if (row === undefined) return;
    const question = Math.floor(pair / candidates);
    data.set(reading.subarray(question * n, (question + 1) * n), pair * (n + m));
    data.set(passages.data.subarray(row * m, (row + 1) * m), pair * (n + m) + n);
  });
  return { data, shape: [rows.length, n + m] };
}

const int32 = (values: readonly number[]): Tensor => ({
  data: Int32Array.from(values),
  shape: [values.length],
});

const scalar = (value: number): Tensor => ({ data: Float32Array.of(value), shape: [] });
