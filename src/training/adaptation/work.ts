/** Floating-point operations of a training step, and of the indexing of a passage. */

import type { ModelConfig } from "../../model/config.ts";
import { parameterShapes } from "../../model/parameter-names.ts";
import { isOneChunk } from "../engine/engine.ts";
import { keepsSharedLayers, withTrainedLayers } from "../loss/trained-parameters.ts";
import type { ResolvedOptions } from "../options/train-options.ts";

/** Mean numbers of tokens. */
export interface TokenLengths {
  readonly passage: number;
  readonly question: number;
  readonly answer: number;
}

export interface Work {
  /** Operations of a training step. */
  readonly step: number;
  /** Operations to index a passage. */
  readonly passage: number;
  /** Number of parameters. */
  readonly parameters: number;
}

/** Operations of a layer for each token: two for each weight of a matrix. */
const PER_WEIGHT = 2;
/** Operations for each value of a state and each pair of tokens of an attention: scores and sum. */
const PER_PAIR = 4;
/** The backward pass takes twice the work of the forward pass. */
const FORWARD_AND_BACKWARD = 3;

/** Counts the operations of all matrix products. */
export function workOf(
  config: ModelConfig,
  {
    questions,
    candidatesPerQuestion,
    querySide,
    objective,
    headOnly,
    trainedLayers,
  }: Pick<ResolvedOptions, "questions" | "candidatesPerQuestion" | "querySide" | "objective"> &
    Partial<Pick<ResolvedOptions, "headOnly" | "trainedLayers">>,
  lengths: TokenLengths,
): Work {
  const { encoderLayers, retrievalLayer, decoderLayers } = config;
  const { block, generated, parameters } = weightsOf(config);
  const attention = (length: number): number => PER_PAIR * length * config.heads * config.headSize;
  const layers = (count: number, length: number): number =>
    count * length * (PER_WEIGHT * block + attention(length));

  const pairLength = lengths.question + lengths.passage;
  const pairs = questions * candidatesPerQuestion;
  const lowerLayers = (length: number): number =>
    layers(retrievalLayer, length) + backboneWork(config, "layers", length);
  const question = lowerLayers(lengths.question);
  const passage = lowerLayers(lengths.passage);
  const upper =
    layers(encoderLayers - retrievalLayer, pairLength) +
    backboneWork(config, "jointLayers", pairLength);
  const perAnswerToken =
    PER_WEIGHT * generated +
    decoderLayers * PER_PAIR * candidatesPerQuestion * pairLength * config.heads * config.modelSize;

  const allQuestions = questions * question;
  const isRead = objective !== "retrieval";
  const lower = pairs * passage + (isRead ? 2 : 1) * allQuestions;
  const decoding = questions * lengths.answer * perAnswerToken;
  const forward = lower + (isRead ? pairs * upper + decoding : 0);
  const isKept = keepsSharedLayers(config, { querySide, retrievalOnly: !isRead });
  const trained = withTrainedLayers(config, { trainedLayers });
  const shared = (length: number): number =>
    backboneWork(trained, "layers", length) - backboneWork(trained, "jointLayers", length);
  const kept = isKept ? pairs * shared(lengths.passage) + questions * shared(lengths.question) : 0;
  const backward = (FORWARD_AND_BACKWARD - 1) * (querySide ? allQuestions : forward - kept);
  const again = isOneChunk(objective, pairs * pairLength) ? 0 : lower; // of the gradient cache
  return {
    // The retrieval head alone needs the states of each text once, and the first steps meet new
    // texts only.
    step: headOnly ? lower : forward + backward + again,
    passage,
    parameters,
  };
}

/** The operations of all layers of the backbone, or of the joint layers, for `length` tokens. */
function backboneWork(
  { backbone, modelSize }: ModelConfig,
  layers: "layers" | "jointLayers",
  length: number,
): number {
  if (!backbone) return 0;
  const block = modelSize * (4 * modelSize + 2 * backbone.feedForwardSize);
  return backbone[layers] * length * (PER_WEIGHT * block + PER_PAIR * length * modelSize);
}

/** Numbers of weights. */
function weightsOf(config: ModelConfig): {
  /** Of an encoder block. */
  block: number;
  /** Used for each generated token. */
  generated: number;
  parameters: number;
} {
  const { encoderLayers, modelSize, vocabularySize } = config;
  const shapes = [...parameterShapes(config)];
  const sizeOf = (prefix: string): number =>
    shapes
      .filter(([name]) => name.startsWith(prefix) && !name.includes("relative"))
      .reduce((sum, [, shape]) => sum + shape.reduce((product, size) => product * size, 1), 0);
  return {
    block: sizeOf("encoder.block.") / encoderLayers,
    generated: sizeOf("decoder.block.") + vocabularySize * modelSize,
    parameters: sizeOf(""),
  };
}
