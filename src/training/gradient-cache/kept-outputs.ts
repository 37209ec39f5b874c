/**
 * What pass 1 keeps of the chunks, as tensors of the batch, and the batch's gradients as tensors of
 * the chunks. Chunks differ in the padded lengths n, m and T, and can have passages in common: a
 * passage is one row of the batch, that of the first chunk which has it. Its other copies have
 * equal keys, because dropout is drawn by name. Letters of shapes: objectives/token-batch.ts.
 */

import type { ModelConfig } from "../../model/config.ts";
import type { Dim, Tensor } from "../../tensor/ops.ts";
import { candidateInputs, teacherInputs } from "../objectives/model-inputs.ts";
import { inputsOf } from "../objectives/objective.ts";
import { type KeptName, keptAxes } from "../objectives/outputs.ts";
import { acrossQuestions, type StepPlan, type Tensors } from "../objectives/passes.ts";
import {
  type Axis,
  type NamedTensor,
  type TokenBatch,
  type TokenExample,
  tokenBatch,
  zeros,
} from "../objectives/token-batch.ts";
import { type Chunk, learningQuestions } from "./chunks.ts";
import type { StepKeys } from "./pre-batch.ts";

type Axes = readonly (Axis | Dim)[];

/** What pass 2 is computed from, and what it gives. */
export interface KeptBatch {
  /** The inputs of pass 2. */
  readonly tensors: Readonly<Record<string, NamedTensor>>;
  /** The keys of the batch, without those of earlier steps. */
  readonly keys: Omit<StepKeys, "step"> | undefined;
  /** The part of gradients that belongs to each chunk. */
  split(gradients: Tensors): Tensors[];
}

/**
 * @param examples of the batch, with different candidates each
 * @param kept the kept outputs of each chunk
 * @param earlier the passages of earlier steps
 */
export function keptBatch(
  config: ModelConfig,
  examples: readonly TokenExample[],
  chunks: readonly Chunk[],
  kept: readonly Tensors[],
  plan: StepPlan,
  earlier: readonly StepKeys[],
): KeptBatch {
  const own = tokenBatch(examples);
  const added = addedPassages(own, kept[0]!.keys === undefined ? [] : earlier);
  const batch = tokenBatch(examples, examples, added);
  const names = Object.keys(kept[0]!) as KeptName[];
  const axes = keptAxes(config, plan.tau);
  const places = names.map((name) => [name, placesOf(batch, chunks, axes[name])] as const);
  const joined = Object.fromEntries(
    places.map(([name, placed]) => {
      const parts = kept.map((one) => one[name]!);
      return [name, joinParts(batch, axes[name], parts, placed)] as const;
    }),
  );
  if (joined.keys) added.writeKeys(joined.keys);
  const masks = masksOf(config, batch, added.lengths);
  const candidates = candidateInputs(batch);
  const common = {
    questions: learningQuestions(examples, plan.objectives),
    isCandidate: candidates.isCandidate,
  };
  return {
    tensors: {
      ...joined,
      ...masks,
      ...candidates,
      ...(plan.isTaught && teacherInputs(batch)),
      ...inputsOf(acrossQuestions(plan), common, batch),
    },
    keys: joined.keys && ownKeys(own, joined.keys, masks.passageMask),
    split: (gradients) =>
      chunks.map((_, chunk) =>
        Object.fromEntries(
          places.map(([name, placed]) => {
            const { shape } = kept[chunk]![name]!;
            return [name, partOf(gradients[name]!, axes[name], shape, placed[chunk]!)];
          }),
        ),
      ),
  };
}

/** The row of the batch of each row of a chunk; undefined for the copy of a passage. */
type Rows = readonly (number | undefined)[];

function placesOf(batch: TokenBatch, chunks: readonly Chunk[], axes: Axes): Rows[] {
  let next = 0;
  if (axes[0] === "Q") return chunks.map((chunk) => chunk.batch.examples.map(() => next++));
  const rows = new Map(batch.names.map((name, row) => [name, row]));
  return chunks.map((chunk) =>
    chunk.batch.names.map((name) => {
      const row = rows.get(name);
      rows.delete(name);
      return row;
    }),
  );
}

function joinParts(
  batch: TokenBatch,
  axes: Axes,
  parts: readonly Tensor[],
  places: readonly Rows[],
): NamedTensor & { readonly data: Float32Array } {
  const shape = axes.map((axis, i) =>
    typeof axis === "number" ? parts[0]!.shape[i]! : batch.sizes[axis as Axis],
  );
  const data = new Float32Array(sizeOf(shape));
  for (const [i, part] of parts.entries())
    forEachRun(part.shape, shape, axes, places[i]!, (own, at, size) => {
      data.set(part.data.subarray(own, own + size), at);
    });
  return { data, shape, axes };
}

/** The rows of a chunk, without the padding that `joinParts` added; 0 for copies of passages. */
function partOf(batch: Tensor, axes: Axes, shape: readonly number[], rows: Rows): Tensor {
  const data = new Float32Array(sizeOf(shape));
  forEachRun(shape, batch.shape, axes, rows, (own, at, size) => {
    data.set(batch.data.subarray(at, at + size), own);
  });
  return { data, shape };
}

/**
 * Visits each contiguous run of a chunk's values: its start in the tensor of the chunk, its start
 * in that of the batch, which can be longer along each axis, and its size.
 */
function forEachRun(
  shape: readonly number[],
  batchShape: readonly number[],
  axes: Axes,
  rows: Rows,
  visit: (own: number, batch: number, size: number) => void,
): void {
  const last = shape.findLastIndex((size, axis) => axis > 0 && size !== batchShape[axis]);
  const runAxis = Math.max(1, last); // the axes after it are contiguous
  const descend = (axis: number, own: number, at: number): void => {
    const padding = axes[axis] === "n" ? batchShape[axis]! - shape[axis]! : 0;
    const [inner, batchInner] = [shape, batchShape].map((sizes) => sizeOf(sizes.slice(axis + 1)));
    const start = at + padding * batchInner!;
    if (axis === runAxis || axis >= shape.length) {
      visit(own, start, sizeOf(shape.slice(axis)));
      return;
    }
    for (let i = 0; i < shape[axis]!; i++)
      descend(axis + 1, own + i * inner!, start + i * batchInner!);
  };
  const [inner, batchInner] = [shape, batchShape].map((sizes) => sizeOf(sizes.slice(1)));
  for (const [row, place] of rows.entries())
    if (place !== undefined) descend(1, row * inner!, place * batchInner!);
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/** The passages of earlier steps that the batch does not have, newest first, each once. */
function addedPassages({ names: own }: TokenBatch, earlier: readonly StepKeys[]) {
  const found = new Map<string, { keys: Tensor; row: number; length: number }>();
  for (const { names, keys, passageMask } of earlier)
    for (const [row, name] of names.entries()) {
      if (own.includes(name) || found.has(name)) continue;
      found.set(name, { keys, row, length: tokensOf(passageMask, row) });
    }
  const lengths = [...found.values()].map(({ length }) => length);
  return {
    names: [...found.keys()],
    lengths,
    m: Math.max(0, ...lengths),
    /** Writes their keys to the last rows of the keys of the batch [U, H, m, e]. */
    writeKeys({ data, shape }: { readonly data: Float32Array; readonly shape: readonly number[] }) {
      const [, heads, m, e] = shape as [number, number, number, number];
      for (const [i, { keys, row }] of [...found.values()].entries()) {
        const count = keys.shape[2]!;
        for (let head = 0; head < heads; head++) {
          const from = (row * heads + head) * count * e;
          const to = ((own.length + i) * heads + head) * m * e;
          data.set(keys.data.subarray(from, from + Math.min(count, m) * e), to);
        }
      }
    },
  };
}

const tokensOf = ({ data, shape: [, m] }: Tensor, row: number): number =>
  Array.from(data.subarray(row * m!, (row + 1) * m!)).reduce((sum, one) => sum + one, 0);

/** The masks of the vectors of the batch. */
function masksOf(
  { retrievalAttention: { pooling } }: ModelConfig,
  batch: TokenBatch,
  earlier: readonly number[],
): Record<"questionMask" | "passageMask", NamedTensor> {
  const isPooled = pooling !== undefined;
  const { n, m } = batch.sizes;
  const questionMask = zeros(batch, "Q", isPooled ? 1 : "n");
  const passageMask = zeros(batch, "U", isPooled ? 1 : "m");
  if (isPooled) {
    questionMask.data.fill(1);
    passageMask.data.fill(1);
    return { questionMask, passageMask };
  }
  for (const [row, { question }] of batch.examples.entries())
    questionMask.data.fill(1, (row + 1) * n - question.length, (row + 1) * n);
  const lengths = [...batch.passages.map(({ length }) => length), ...earlier];
  for (const [row, length] of lengths.entries())
    passageMask.data.fill(1, row * m, row * m + length);
  return { questionMask, passageMask };
}

/** The first rows: those of the batch itself. */
function ownKeys({ names }: TokenBatch, keys: Tensor, passageMask: Tensor): Omit<StepKeys, "step"> {
  const first = (tensor: Tensor): Tensor => {
    const shape = [names.length, ...tensor.shape.slice(1)];
    return { data: tensor.data.slice(0, sizeOf(shape)), shape };
  };
  return { names, keys: first(keys), passageMask: first(passageMask) };
}
