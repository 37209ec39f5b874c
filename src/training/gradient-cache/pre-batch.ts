/**
 * Pre-batch negatives: the token keys of the passages of the last steps, without gradients. They
 * count in the in-batch normaliser of a later step.
 *
 * Source: Lee et al. 2021 (DensePhrases), section 4.3. Letters: objectives/token-batch.ts.
 */

import type { Tensor } from "../../tensor/ops.ts";

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
