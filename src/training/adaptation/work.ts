/** Floating-point operations of a training step, and of the indexing of a passage. */

import type { ModelConfig } from "../../model/config.ts";
import { namesIn, parameterNames, parameterShapes } from "../../model/parameter-names.ts";
import type { StackParameters } from "../../model/parameters.ts";
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
  const weights = weightsOf(config);
  const pairLength = lengths.question + lengths.passage;
  const pairs = questions * candidatesPerQuestion;
  const question = stackWork(weights.text, lengths.question);
  const passage = stackWork(weights.text, lengths.passage);
  const joint = stackWork(weights.joint, pairLength);
  const { decoder, modelSize } = config;
  const perAnswerToken =
    PER_WEIGHT * weights.generated +
    decoder.layers * PER_PAIR * candidatesPerQuestion * pairLength * decoder.heads * modelSize;

  const allQuestions = questions * question;
  const isRead = objective.objective !== "retrieval";
  const lower = pairs * passage + (isRead ? 2 : 1) * allQuestions;
  const decoding = questions * lengths.answer * perAnswerToken;
  const forward = lower + (isRead ? pairs * joint + decoding : 0);
  const held = heldLayers(config, trained.names, isRead) ?? 0;
  const heldWork = (length: number): number => stackWork(weights.text.slice(0, held), length);
  const kept = pairs * heldWork(lengths.passage) + questions * heldWork(lengths.question);
  const backward = (FORWARD_AND_BACKWARD - 1) * (part === "query" ? allQuestions : forward - kept);
  // Of the gradient cache. Distillation also reads twice, without the words of the vocabulary.
  const readAgain = objective.objective === "distillation" ? pairs * joint : 0;
  const again = isOneChunk(isRead, pairs * pairLength) ? 0 : lower - kept + readAgain;
  return {
    step: forward + backward + again, // the first steps meet new texts only
    passage,
    parameters: weights.parameters,
  };
}

/** A layer: the numbers of its weights, and of the values of its heads for a token. */
interface LayerSize {
  readonly weights: number;
  readonly values: number;
}

/** The operations of layers for a text of `length` tokens. */
const stackWork = (layers: readonly LayerSize[], length: number): number =>
  layers.reduce(
    (sum, { weights, values }) =>
      sum + length * (PER_WEIGHT * weights + PER_PAIR * length * values),
    0,
  );

interface Weights {
  /** The layers of a text alone. */
  readonly text: readonly LayerSize[];
  readonly joint: readonly LayerSize[];
  /** Used for each generated token. */
  readonly generated: number;
  readonly parameters: number;
}

function weightsOf(config: ModelConfig): Weights {
  const shapes = parameterShapes(config);
  const count = (names: Iterable<string>): number =>
    [...names]
      .filter((name) => !name.includes("relative"))
      .map((name) => shapes.get(name)!)
      .reduce((sum, shape) => sum + shape.reduce((product, size) => product * size, 1), 0);
  const sizes = (stacks: readonly StackParameters<string>[]): LayerSize[] =>
    stacks.flatMap(({ sizes: { heads, headSize }, layers }) =>
      layers.map((layer) => ({ weights: count(namesIn(layer)), values: heads * headSize })),
    );
  const { shared, retrieval, joint, decoder, embedding } = parameterNames(config);
  return {
    text: sizes([...shared, ...retrieval]),
    joint: sizes(joint),
    generated: count([...namesIn(decoder.layers), embedding]),
    parameters: count(shapes.keys()),
  };
}
