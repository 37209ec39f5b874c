/** Between the chunks of a batch and the competition of all its passages: joins what chunks show, and divides what comes back. */

import type { Tensor } from "../../tensor/ops.ts";
import { type Chunk, candidateMask } from "../loss/batch.ts";

type Tensors = Record<string, Tensor>;

/** The tensors of `competitionSignature`, from each chunk and its `queries` and `keys`. */
export function joinChunks(parts: readonly Chunk[], vectors: readonly Tensors[]): Tensors {
  const chunks = parts.map(({ tensors }) => tensors);
  const questionMasks = chunks.map(({ questionMask }) =>
    firstRows(questionMask!, questionMask!.shape[0]! / 2),
  );
  const questions = questionMasks.reduce((sum, { shape }) => sum + shape[0]!, 0);
  return {
    queries: joinRows(
      vectors.map(({ queries }) => queries!),
      2,
      "left",
    ),
    questionMask: joinRows(questionMasks, 1, "left"),
    keys: joinRows(
      vectors.map(({ keys }) => keys!),
      2,
      "right",
    ),
    passageMask: joinRows(
      chunks.map(({ passageMask }) => passageMask!),
      1,
      "right",
    ),
    passageOf: joinPositions(chunks),
    candidates: candidateMask(questions, parts[0]!.passages, true),
    questionsOfBatch: chunks[0]!.questionsOfBatch!,
  };
}

/** The tensors of `cacheSignature` of each chunk, from `logNormaliser`, `queryGradient` and `keyGradient` of the batch. */
export function divideCompetition(chunks: readonly Chunk[], batch: Tensors): Tensors[] {
  let question = 0;
  let passage = 0;
  return chunks.map(({ tensors: { questionMask, passageMask } }) => {
    const [rows, n] = questionMask.shape as [number, number];
    const [distinct, m] = passageMask.shape as [number, number];
    const part = {
      logNormaliser: cut(batch.logNormaliser!, question, rows / 2),
      queryGradient: cut(batch.queryGradient!, question, rows / 2, {
        axis: 2,
        length: n,
        side: "left",
      }),
      keyGradient: cut(batch.keyGradient!, passage, distinct, {
        axis: 2,
        length: m,
        side: "right",
      }),
    };
    question += rows / 2;
    passage += distinct;
    return part;
  });
}

/** Joins tensors along their first axis, made equally long along `axis` by zeros on the given side. */
function joinRows(parts: readonly Tensor[], axis: number, side: "left" | "right"): Tensor {
  const length = Math.max(...parts.map(({ shape }) => shape[axis]!));
  const rows = parts.reduce((sum, { shape }) => sum + shape[0]!, 0);
  const shape = parts[0]!.shape.map((size, i) => (i === 0 ? rows : i === axis ? length : size));
  const joined = {
    data: new Float32Array(shape.reduce((product, size) => product * size, 1)),
    shape,
  };
  let first = 0;
  for (const part of parts) {
    forEachRun(part.shape, axis, side, length, (own, padded, size) => {
      joined.data.set(part.data.subarray(own, own + size), first + padded);
    });
    first += (part.data.length / part.shape[axis]!) * length;
  }
  return joined;
}

/** Rows `[first, first + rows)` of a tensor that `joinRows` joined, without the padding. */
function cut(
  tensor: Tensor,
  first: number,
  rows: number,
  padded?: { axis: number; length: number; side: "left" | "right" },
): Tensor {
  const rowSize = tensor.data.length / tensor.shape[0]!;
  const data = (tensor.data as Float32Array).subarray(first * rowSize, (first + rows) * rowSize);
  const shape = [rows, ...tensor.shape.slice(1)];
  if (!padded) return { data, shape };
  const { axis, length, side } = padded;
  const own = shape.map((size, i) => (i === axis ? length : size));
  const result = {
    data: new Float32Array(own.reduce((product, size) => product * size, 1)),
    shape: own,
  };
  forEachRun(own, axis, side, shape[axis]!, (to, from, size) => {
    result.data.set(data.subarray(from, from + size), to);
  });
  return result;
}

/** For each stretch along `axis` of a tensor: where it begins there, where in one padded to `length`, and its size. */
function forEachRun(
  shape: readonly number[],
  axis: number,
  side: "left" | "right",
  length: number,
  visit: (own: number, padded: number, size: number) => void,
): void {
  const product = (sizes: readonly number[]): number =>
    sizes.reduce((total, size) => total * size, 1);
  const inner = product(shape.slice(axis + 1));
  const size = shape[axis]! * inner;
  const padding = side === "left" ? (length - shape[axis]!) * inner : 0;
  for (let run = 0; run < product(shape.slice(0, axis)); run++)
    visit(run * size, run * length * inner + padding, size);
}

function firstRows({ data, shape }: Tensor, rows: number): Tensor {
  return {
    data: data.subarray(0, (data.length / shape[0]!) * rows),
    shape: [rows, ...shape.slice(1)],
  };
}

/** The positions of close passages among the passages of all chunks. */
function joinPositions(chunks: readonly Tensors[]): Tensor {
  let before = 0;
  const positions = chunks.flatMap(({ passageOf, passageMask }) => {
    const moved = Array.from(passageOf!.data, (position) => position + before);
    before += passageMask!.shape[0]!;
    return moved;
  });
  return { data: Int32Array.from(positions), shape: [positions.length] };
}
