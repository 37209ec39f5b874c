/**
 * Joins the vectors of chunks to those of the batch, and splits the batch's gradients into those of
 * chunks. Chunks differ in the padded lengths n and m. Letters of shapes: loss/graph-inputs.ts.
 */

import type { Tensor } from "../../tensor/ops.ts";
import type { Chunk } from "../loss/batch.ts";
import type { NormaliserInput } from "../loss/graph-inputs.ts";
import {
  type ChunkPassages,
  type NormaliserOptions,
  normaliserBias,
} from "../loss/normaliser-bias.ts";
import type { Tensors } from "./gradient-passes.ts";
import type { StepKeys } from "./pre-batch.ts";

type Side = "left" | "right";

/** Questions are padded on the left, passages on the right. */
const [QUESTION_PADDING, PASSAGE_PADDING] = ["left", "right"] as const;

/**
 * The tensors of `normaliserInputs`, from each chunk and its `queries` and `keys`. The passages of
 * earlier steps follow those of the batch.
 */
export function joinVectors(
  chunks: readonly Chunk[],
  vectors: readonly Tensors[],
  options: NormaliserOptions,
  earlier: readonly StepKeys[] = [],
): Record<NormaliserInput, Tensor> {
  const queries = vectors.map((one) => one.queries!);
  const questionMasks = chunks.map(({ questions, tensors }, i) =>
    vectorMask(firstRows(tensors.questionMask, questions), queries[i]!),
  );
  const parts = [...keysOf(chunks, vectors), ...earlier].map((part) => ({
    ...part,
    passageMask: vectorMask(part.passageMask, part.keys),
  }));
  const passages: ChunkPassages[] = [
    ...chunks.map((chunk) => chunk.passages),
    ...earlier.map(({ names }) => ({ names, questions: [] })),
  ];
  return {
    queries: joinRows(queries, 2, QUESTION_PADDING),
    questionMask: joinRows(questionMasks, 1, QUESTION_PADDING),
    ...joinKeys(parts),
    normaliserBias: normaliserBias(passages, options),
    batchQuestions: chunks[0]!.tensors.batchQuestions,
    targetMass: targetMass(passages),
  };
}

type PassageKeys = Omit<StepKeys, "step">;

/** The mask of vectors [rows, H, count, e]: that of the tokens, or [rows, 1] of pooled vectors. */
function vectorMask(mask: Tensor, { shape: [rows, , count] }: Tensor): Tensor {
  if (count === mask.shape[1]) return mask;
  return { data: new Float32Array(rows!).fill(1), shape: [rows!, 1] };
}

/** The keys of each chunk. */
const keysOf = (chunks: readonly Chunk[], vectors: readonly Tensors[]): PassageKeys[] =>
  chunks.map(({ passages: { names }, tensors: { passageMask } }, i) => ({
    ...{ names, passageMask },
    keys: vectors[i]!.keys!,
  }));

/** The keys of all chunks of a batch. */
export function batchKeys(chunks: readonly Chunk[], vectors: readonly Tensors[]): PassageKeys {
  const parts = keysOf(chunks, vectors);
  return { names: parts.flatMap(({ names }) => names), ...joinKeys(parts) };
}

const joinKeys = (parts: readonly PassageKeys[]): Pick<PassageKeys, "keys" | "passageMask"> => ({
  keys: joinRows(
    parts.map(({ keys }) => keys),
    2,
    PASSAGE_PADDING,
  ),
  passageMask: joinRows(
    parts.map(({ passageMask }) => passageMask),
    1,
    PASSAGE_PADDING,
  ),
});

/** float32 [Q]: 1 for the questions that have a target, else 0. */
function targetMass(chunks: readonly ChunkPassages[]): Tensor {
  const questions = chunks.flatMap((chunk) => chunk.questions);
  const data = Float32Array.from(questions, ({ targets }) => Number(targets.size > 0));
  return { data, shape: [questions.length] };
}

/**
 * The tensors of `cacheInputs` of each chunk, from its vectors and the outputs of pass 2 for the
 * batch.
 */
export function splitCache(vectors: readonly Tensors[], batch: Tensors): Tensors[] {
  let question = 0;
  let passage = 0;
  return vectors.map(({ queries, keys, ...shared }) => {
    const [questions, , n] = queries!.shape as [number, number, number];
    const [passages, , m] = keys!.shape as [number, number, number];
    const queryGradient = rowsOf(batch.queryGradient!, question, questions);
    const keyGradient = rowsOf(batch.keyGradient!, passage, passages);
    const cache = {
      ...shared,
      logNormaliser: rowsOf(batch.logNormaliser!, question, questions),
      queryGradient: withoutPadding(queryGradient, 2, n, QUESTION_PADDING),
      keyGradient: withoutPadding(keyGradient, 2, m, PASSAGE_PADDING),
    };
    question += questions;
    passage += passages;
    return cache;
  });
}

/** Joins tensors along the first axis, padded with zeros to the same length of `axis`. */
function joinRows(parts: readonly Tensor[], axis: number, side: Side): Tensor {
  const length = Math.max(...parts.map(({ shape }) => shape[axis]!));
  const rows = parts.reduce((sum, { shape }) => sum + shape[0]!, 0);
  const joined = zeros(withSize(withSize(parts[0]!.shape, axis, length), 0, rows));
  let first = 0;
  for (const part of parts) {
    forEachRun(part.shape, axis, side, length, (own, padded, size) => {
      joined.data.set(part.data.subarray(own, own + size), first + padded);
    });
    first += (part.data.length / part.shape[axis]!) * length;
  }
  return joined;
}

/** The tensor cut to `length` of `axis`. Removes the padding that `joinRows` added. */
function withoutPadding(tensor: Tensor, axis: number, length: number, side: Side): Tensor {
  const result = zeros(withSize(tensor.shape, axis, length));
  forEachRun(result.shape, axis, side, tensor.shape[axis]!, (own, padded, size) => {
    result.data.set(tensor.data.subarray(padded, padded + size), own);
  });
  return result;
}

/**
 * Visits each contiguous run of values along `axis` and the axes after it: its start in a tensor of
 * this shape, its start in the tensor padded to `length`, and its size.
 */
function forEachRun(
  shape: readonly number[],
  axis: number,
  side: Side,
  length: number,
  visit: (own: number, padded: number, size: number) => void,
): void {
  const inner = product(shape.slice(axis + 1));
  const size = shape[axis]! * inner;
  const padding = side === "left" ? (length - shape[axis]!) * inner : 0;
  for (let run = 0; run < product(shape.slice(0, axis)); run++)
    visit(run * size, run * length * inner + padding, size);
}

const product = (sizes: readonly number[]): number =>
  sizes.reduce((total, size) => total * size, 1);

const withSize = (shape: readonly number[], axis: number, size: number): number[] =>
  shape.map((old, i) => (i === axis ? size : old));

const zeros = (shape: readonly number[]) => ({ data: new Float32Array(product(shape)), shape });

const firstRows = (tensor: Tensor, rows: number): Tensor => rowsOf(tensor, 0, rows);

/** Rows `[first, first + rows)`. */
function rowsOf({ data, shape }: Tensor, first: number, rows: number): Tensor {
  const size = data.length / shape[0]!;
  return {
    data: data.subarray(first * size, (first + rows) * size),
    shape: withSize(shape, 0, rows),
  };
}
