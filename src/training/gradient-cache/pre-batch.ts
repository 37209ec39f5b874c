/**
 * Pre-batch negatives: the token keys of the passages of the last steps, without gradients. They
 * count in the in-batch normaliser of a later step.
 *
 * Source: Lee et al. 2021 (DensePhrases), section 4.3. Letters: objectives/token-batch.ts.
 *
 * In the state of a checkpoint, the queue is these float32 tensors, which hold every token id
 * exactly. Entry I is 0 for the newest.
 *
 *     preBatch:I:step    []             the step that computed the keys
 *     preBatch:I:ids     [U, n]         token ids of the passages, padded with -1
 *     preBatch:I:mask    [U, m]         1 for a vector; with pooling, m is 1
 *     preBatch:I:keys    [U, H, m, e]
 */

import type { TensorToWrite } from "../../checkpoints/write-safetensors.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { passageName } from "../objectives/token-batch.ts";

/** The passages of one step. */
export interface StepKeys {
  /** The step that computed the keys, counted from 1. */
  readonly step: number;
  /** Names of the passages, see `passageName`. [U] */
  readonly names: readonly string[];
  /** [U, H, m, e] */
  readonly keys: Tensor;
  /** float32 [U, m] */
  readonly passageMask: Tensor;
}

export interface PreBatchQueue {
  /** The last steps, newest first. */
  readonly entries: readonly StepKeys[];
  /** Adds the newest step, and removes the oldest if the queue is full. */
  add(entry: StepKeys): void;
}

/** @param size the maximum number of steps */
export function openPreBatchQueue(size: number): PreBatchQueue {
  const entries: StepKeys[] = [];
  return {
    entries,
    add(entry) {
      entries.unshift(entry);
      entries.length = Math.min(entries.length, size);
    },
  };
}

/** What `openSafetensors` returns. */
interface StoredTensors {
  readonly tensors: ReadonlyMap<string, { readonly shape: readonly number[] }>;
  read(name: string): Promise<Float32Array>;
}

const nameOf = (entry: number, part: "step" | "ids" | "mask" | "keys"): string =>
  `preBatch:${entry}:${part}`;

/** The tensors of the queue by name. */
export function preBatchTensors(queue: PreBatchQueue | undefined): [string, TensorToWrite][] {
  return (queue?.entries ?? []).flatMap(({ step, names, keys, passageMask }, i) => [
    [nameOf(i, "step"), { shape: [], values: Float32Array.of(step) }],
    [nameOf(i, "ids"), idsOf(names)],
    [nameOf(i, "mask"), { shape: passageMask.shape, values: passageMask.data as Float32Array }],
    [nameOf(i, "keys"), { shape: keys.shape, values: keys.data as Float32Array }],
  ]);
}

const PADDING = -1;

function idsOf(names: readonly string[]): TensorToWrite {
  const rows = names.map((name) => name.split(",").map(Number));
  const length = Math.max(...rows.map((row) => row.length));
  const values = new Float32Array(rows.length * length).fill(PADDING);
  for (const [passage, row] of rows.entries()) values.set(row, passage * length);
  return { shape: [rows.length, length], values };
}

/** Fills an empty queue from a checkpoint. */
export async function restorePreBatch(stored: StoredTensors, queue: PreBatchQueue): Promise<void> {
  const entries: StepKeys[] = [];
  for (let i = 0; stored.tensors.has(nameOf(i, "step")); i++) {
    const read = async (part: "step" | "ids" | "mask" | "keys"): Promise<Tensor> => ({
      data: await stored.read(nameOf(i, part)),
      shape: stored.tensors.get(nameOf(i, part))!.shape,
    });
    const [step, ids] = [await read("step"), await read("ids")];
    const [passageMask, keys] = [await read("mask"), await read("keys")];
    entries.push({ step: step.data[0]!, names: namesOf(ids), passageMask, keys });
  }
  for (const entry of entries.reverse()) queue.add(entry);
}

function namesOf({ data, shape }: Tensor): string[] {
  const [passages, length] = shape as [number, number];
  return Array.from({ length: passages }, (_, passage) => {
    const row = [...data.subarray(passage * length, (passage + 1) * length)];
    return passageName(row.filter((id) => id !== PADDING));
  });
}
