/** Estimates of the memory that the states and gradients of a chunk take. */

import type { ModelConfig } from "../../model/config.ts";
import { keepsSharedLayers, withTrainedLayers } from "../loss/trained-parameters.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { CHUNK_TOKENS, RETRIEVAL_CHUNK_TOKENS } from "./engine.ts";

/**
 * Values that a token of a chunk holds in each layer with gradients, in units of the model size.
 * Measured with models/reatt-mini: 30 with `supervised`, 34 with `retrieval`. The rest is memory
 * that onnxruntime keeps, because batches differ in length (docs/experiments/speed.md).
 */
const VALUES_PER_TOKEN = 54;

export function chunkBytes(
  config: ModelConfig,
  options: Pick<
    ResolvedOptions,
    | "objective"
    | "headOnly"
    | "trainedLayers"
    | "questions"
    | "candidatesPerQuestion"
    | "maxPassageTokens"
  >,
): number {
  const { encoderLayers, decoderLayers, retrievalLayer, modelSize, backbone } = withTrainedLayers(
    config,
    options,
  );
  const { objective, headOnly, questions, candidatesPerQuestion, maxPassageTokens } = options;
  const { layers, jointLayers } = backbone ?? { layers: 0, jointLayers: 0 };
  const ofLayer = modelSize * Float32Array.BYTES_PER_ELEMENT;
  if (objective !== "retrieval") {
    const all = layers + jointLayers + encoderLayers + decoderLayers;
    return CHUNK_TOKENS * VALUES_PER_TOKEN * all * ofLayer;
  }
  const tokens = questions * candidatesPerQuestion * maxPassageTokens; // padded to the longest
  const isKept = keepsSharedLayers(config, { ...options, retrievalOnly: true });
  const trained = (isKept ? jointLayers : layers) + retrievalLayer;
  const held = VALUES_PER_TOKEN * (headOnly ? 1 : Math.max(1, trained));
  return Math.min(RETRIEVAL_CHUNK_TOKENS, tokens) * held * ofLayer;
}
