/** Estimates of the memory that the states and gradients of a chunk take. */

import { type ModelConfig, textLayers } from "../../model/config.ts";
import { countLayers } from "../../model/stack.ts";
import { heldLayers } from "../objectives/held-layers.ts";
import { CHUNK_TOKENS, RETRIEVAL_CHUNK_TOKENS } from "./engine.ts";

/**
 * Values that a token of a chunk holds in each layer with gradients, in units of the model size.
 * Measured with models/reatt-mini: 30 with `supervised`, 34 with `retrieval`. The rest is memory
 * that onnxruntime keeps, because batches differ in length (docs/experiments/speed.md).
 */
const VALUES_PER_TOKEN = 54;

/** What the memory of a chunk depends on. */
export interface ChunkLoad {
  /** Names of the parameters that are trained. */
  readonly trained: ReadonlySet<string>;
  /** Whether steps read. */
  readonly isRead: boolean;
  /** Tokens of the passages of a step, padded to the longest. */
  readonly tokens: number;
}

export function chunkBytes(config: ModelConfig, { trained, isRead, tokens }: ChunkLoad): number {
  const { joint, decoder, modelSize } = config;
  const ofLayer = VALUES_PER_TOKEN * modelSize * Float32Array.BYTES_PER_ELEMENT;
  if (isRead) {
    const all = textLayers(config) + countLayers(joint) + decoder.layers;
    return CHUNK_TOKENS * all * ofLayer;
  }
  const held = heldLayers(config, trained, isRead) ?? 0;
  const computed = Math.max(1, textLayers(config) - held);
  return Math.min(RETRIEVAL_CHUNK_TOKENS, tokens) * computed * ofLayer;
}
