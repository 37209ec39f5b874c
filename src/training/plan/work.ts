/**
 * The work of a run, counted and not measured: the products of numbers in the matrices of its
 * model, for the tokens that a step trains on, and for those of a passage in an index.
 */

import { type ModelConfig, retrievalWidth, vectorSize } from "../../model/config.ts";
import { parameterShapes } from "../../model/parameter-names.ts";
import type { Stack } from "../../model/stack.ts";
import { CHUNK_TOKENS, RETRIEVAL_CHUNK_TOKENS } from "../gradient-cache/chunk-size.ts";
import { heldLayers } from "../objectives/held-layers.ts";
import { trainsReading } from "../objectives/index.ts";
import type { Run } from "../run/run.ts";

/** Mean numbers of tokens. */
export interface Lengths {
  readonly passage: number;
  readonly question: number;
  /** 0 for examples that train retrieval alone. */
  readonly answer: number;
}

/** Whether steps read: they compute more than retrieval. */
export const isRead = ({ objective }: Pick<Run, "objective">): boolean =>
  objective.objective !== "retrieval";

/** Products to encode a passage for an index. */
export const passageWork = (config: ModelConfig, tokens: number): number =>
  textWork(textLayers(config), tokens) + tokens * retrievalWidth(config) * vectorSize(config);

/**
 * Products in whose time a parameter's gradient is summed and its update computed, which waits for
 * memory. Measured with models/reatt-mini.
 */
const UPDATE = 1_500;

/**
 * Products of a step. A pass backward costs two passes forward, and a batch of several chunks takes
 * a second pass forward (../gradient-cache/gradient-cache.ts). Held layers are computed once for
 * each text.
 */
export function stepWork(
  { config, trained, batch, objective }: Pick<Run, "config" | "trained" | "batch" | "objective">,
  { passage, question, answer }: Lengths,
): number {
  const { questions, candidatesPerQuestion } = batch;
  const reads = isRead({ objective });
  const pairs = questions * candidatesPerQuestion;
  const pair = question + passage;
  const passes = pairs * pair <= (reads ? CHUNK_TOKENS : RETRIEVAL_CHUNK_TOKENS) ? 3 : 4;
  const held = heldLayers(config, trained.names, reads) ?? 0;
  const layers = textLayers(config);
  const texts = (some: readonly Layer[]): number =>
    pairs * textWork(some, passage) + questions * textWork(some, question);
  const update = UPDATE * trainedParameters({ config, trained });
  const retrieval = update + texts(layers.slice(0, held)) + passes * texts(layers.slice(held));
  if (!reads) return retrieval;
  const joint = pairs * textWork(layersOf(config.joint), pair);
  // A teacher reads each candidate alone, in its first step: less later (engine/held-teacher.ts).
  if (!trainsReading(objective.objective))
    return retrieval + joint + pairs * decoderWork(config, pair, answer);
  const decoded = questions * decoderWork(config, candidatesPerQuestion * pair, answer);
  return retrieval + passes * (joint + decoded);
}

/** How many numbers a run trains. */
const trainedParameters = ({ config, trained }: Pick<Run, "config" | "trained">): number =>
  [...parameterShapes(config)]
    .filter(([name]) => trained.names.has(name))
    .reduce((sum, [, shape]) => sum + shape.reduce((product, size) => product * size, 1), 0);

interface Layer {
  readonly width: number;
  readonly heads: number;
  readonly headSize: number;
  readonly feedForwardSize: number;
  readonly feedForward?: string | undefined;
}

const layersOf = (stacks: readonly Stack[]): Layer[] =>
  stacks.flatMap((stack) => Array<Layer>(stack.layers).fill(stack));

const textLayers = ({ shared, retrieval }: ModelConfig): Layer[] =>
  layersOf([...shared, ...retrieval]);

/** Of all tokens of a text: four projections, scores, means of values, and the layer behind. */
const textWork = (layers: readonly Layer[], tokens: number): number =>
  layers.reduce((sum, layer) => {
    const inner = layer.heads * layer.headSize;
    return sum + tokens * (4 * layer.width * inner + 2 * tokens * inner + feedForwardWork(layer));
  }, 0);

const feedForwardWork = ({ width, feedForwardSize, feedForward }: Layer): number =>
  (feedForward === "gated-gelu" ? 3 : 2) * width * feedForwardSize;

/**
 * Of an answer: each of its tokens is projected, attends to itself and to what was read, and scores
 * the vocabulary. What was read is projected once for each layer.
 *
 * @param read tokens that were read
 */
function decoderWork(
  { decoder, modelSize: width, vocabularySize }: ModelConfig,
  read: number,
  answer: number,
): number {
  const inner = decoder.heads * decoder.headSize;
  const ofToken = 6 * width * inner + 2 * (answer + read) * inner;
  const layer =
    answer * (ofToken + feedForwardWork({ ...decoder, width })) + 2 * read * width * inner;
  return decoder.layers * layer + answer * vocabularySize * width;
}
