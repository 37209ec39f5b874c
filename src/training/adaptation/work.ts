/** Floating-point operations of a training step, and of the indexing of a passage. */

import type { ModelConfig } from "../../model/config.ts";
import { parameterShapes } from "../../model/parameter-names.ts";
import { isOneChunk } from "../engine/engine.ts";
import { heldLayers } from "../objectives/held-layers.ts";
import type { Run } from "../run/run.ts";

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

/** What the work of a run depends on. */
type WorkingRun = Pick<Run, "config" | "part" | "trained"> & {
  readonly objective: Pick<Run["objective"], "objective">;
  readonly batch: Pick<Run["batch"], "questions" | "candidatesPerQuestion">;
};

/** Counts the operations of all matrix products. */
export function workOf(
  { config, part, trained, objective, batch }: WorkingRun,
  lengths: TokenLengths,
): Work {
  const { questions, candidatesPerQuestion } = batch;
  const { encoderLayers, retrievalLayer, decoderLayers } = config;
  const { block, generated, parameters } = weightsOf(config);
  const attention = (length: number): number => PER_PAIR * length * config.heads * config.headSize;
  const layers = (count: number, length: number): number =>
    count * length * (PER_WEIGHT * block + attention(length));

  const pairLength = lengths.question + lengths.passage;
  const pairs = questions * candidatesPerQuestion;
  const lowerLayers = (length: number): number =>
    layers(retrievalLayer, length) + backboneWork(config, config.backbone?.layers ?? 0, length);
  const question = lowerLayers(lengths.question);
  const passage = lowerLayers(lengths.passage);
  const upper =
    layers(encoderLayers - retrievalLayer, pairLength) +
    backboneWork(config, config.backbone?.jointLayers ?? 0, pairLength);
  const perAnswerToken =
    PER_WEIGHT * generated +
    decoderLayers * PER_PAIR * candidatesPerQuestion * pairLength * config.heads * config.modelSize;

  const allQuestions = questions * question;
  const isRead = objective.objective !== "retrieval";
  const lower = pairs * passage + (isRead ? 2 : 1) * allQuestions;
  const decoding = questions * lengths.answer * perAnswerToken;
  const forward = lower + (isRead ? pairs * upper + decoding : 0);
  const held = heldLayers(config, trained.names, isRead) ?? 0;
  const below = Math.min(held, config.backbone?.layers ?? 0);
  const heldWork = (length: number): number =>
    backboneWork(config, below, length) + layers(held - below, length);
  const kept = pairs * heldWork(lengths.passage) + questions * heldWork(lengths.question);
  const backward = (FORWARD_AND_BACKWARD - 1) * (part === "query" ? allQuestions : forward - kept);
  // Of the gradient cache. Distillation also reads twice, without the words of the vocabulary.
  const readAgain = objective.objective === "distillation" ? pairs * upper : 0;
  const again = isOneChunk(isRead, pairs * pairLength) ? 0 : lower - kept + readAgain;
  return {
    step: forward + backward + again, // the first steps meet new texts only
    passage,
    parameters,
  };
}

/** The operations of some layers of the backbone for `length` tokens. */
function backboneWork(
  { backbone, modelSize }: ModelConfig,
  layers: number,
  length: number,
): number {
  if (!backbone) return 0;
  const block = modelSize * (4 * modelSize + 2 * backbone.feedForwardSize);
  return layers * length * (PER_WEIGHT * block + PER_PAIR * length * modelSize);
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
