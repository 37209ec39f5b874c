/** A stack: layers of one kind and size, one after the other. Of stacks the model is made. */

import { z } from "zod";

/** Above every model: the largest vocabulary has 250,112 rows; T5-11B has a `d_ff` of 65,536. */
const MAX_WIDTH = 1_000_000;
const MAX_LAYERS = 1_000;
export const widthOf = z.int().min(1).max(MAX_WIDTH);
export const layersOf = z.int().min(1).max(MAX_LAYERS);
export const epsilonOf = z.number().positive().max(1);

/**
 * `relu` in T5 v1.0, `gated-gelu` in T5 v1.1, `gelu_new` for GELU without a gate. Both have the
 * tanh approximation of GELU.
 */
export const FeedForward = z.enum(["relu", "gelu_new", "gated-gelu"]);

/** The sizes of every kind of layers. */
const SIZES = {
  layers: z.int().min(0).max(MAX_LAYERS),
  /** Values of a state. */
  width: widthOf,
  heads: widthOf,
  /** Width of one head; `heads * headSize` need not equal `width`. */
  headSize: widthOf,
  /** Inner width of a feed-forward layer. */
  feedForwardSize: widthOf,
  layerNormEpsilon: epsilonOf,
  /** Whether a linear map with a bias stands before the first layer: states can have any width. */
  inputMap: z.boolean().optional(),
};

/** Layers of T5: see layers/t5.ts. */
const T5Stack = z.strictObject({
  kind: z.literal("t5"),
  ...SIZES,
  feedForward: FeedForward,
  /** Whether its table of relative positions is that of the first T5 stack of the encoder. */
  sharesBias: z.boolean().optional(),
});

/** Layers of BERT: see layers/bert.ts. */
const BertStack = z.strictObject({
  kind: z.literal("bert"),
  ...SIZES,
  /** The most tokens of a text. Of the stack that begins with word vectors, and only of that. */
  positions: widthOf.optional(),
  /** `gelu` of BERT, by the error function, or its tanh approximation, the default. */
  activation: z.enum(["gelu", "gelu_new"]).optional(),
});

export const StackSchema = z.discriminatedUnion("kind", [T5Stack, BertStack]);

export type Stack = z.infer<typeof StackSchema>;
export type LayerKindName = Stack["kind"];
export type StackOf<Kind extends LayerKindName> = Extract<Stack, { kind: Kind }>;

/** Layers of all stacks together. */
export const countLayers = (stacks: readonly Stack[]): number =>
  stacks.reduce((sum, { layers }) => sum + layers, 0);

/** The width of states after some stacks. */
export const widthAfter = (stacks: readonly Stack[], before: number): number =>
  stacks.at(-1)?.width ?? before;
