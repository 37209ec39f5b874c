/**
 * The lower layers that a run does not train. The states of a text after them are computed once and
 * held (../engine/held-states.ts): later steps begin with them.
 */

import {
  type EncoderInput,
  type LowerParameters,
  readingStates,
} from "../../encoder/lower-layers.ts";
import type { ModelConfig } from "../../model/config.ts";
import { maskBias } from "../../model/layers/attention.ts";
import { bertBlocks } from "../../model/layers/bert.ts";
import type { LayerContext } from "../../model/layers/context.ts";
import { encoderBlock } from "../../model/layers/encoder-block.ts";
import { relativeBias } from "../../model/layers/relative-position.ts";
import { buildParameters, namesIn } from "../../model/parameter-names.ts";

/** The number of leading layers whose states are held: all that reading shares, or more. */
export type HeldLayers = number;

/** Layers that retrieval shares with reading. */
const sharedLayers = ({ backbone, retrievalLayer }: ModelConfig): number =>
  backbone && backbone.jointLayers > 0
    ? backbone.layers - backbone.jointLayers
    : (backbone?.layers ?? 0) + retrievalLayer;

/**
 * The layers that can be held in a run which trains the parameters `trained`; undefined if it
 * trains a layer that reading shares.
 *
 * @param isRead whether the run reads: reading begins with the states of the shared layers
 */
export function heldLayers(
  config: ModelConfig,
  trained: ReadonlySet<string>,
  isRead: boolean,
): HeldLayers | undefined {
  const isTrained = (tree: object): boolean => namesIn(tree).some((name) => trained.has(name));
  const { embedding, encoder } = buildParameters(config, (name) => name);
  const { backbone, blocks, relativeBias: bias } = encoder;
  const words = { embedding, ...(backbone && { ...backbone, blocks: [] }) };
  if (isTrained(words)) return undefined;
  const layers = [
    ...(backbone?.blocks ?? []),
    ...blocks.slice(0, config.retrievalLayer).map((block) => ({ block, bias })),
  ];
  const first = layers.findIndex(isTrained);
  const untrained = first < 0 ? layers.length : first;
  const shared = sharedLayers(config);
  if (untrained === 0 || untrained < shared) return undefined;
  return isRead ? shared || undefined : untrained;
}

/** The states of a text after some layers: -> [batch, length, modelSize]. */
export function statesAfter<T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  input: EncoderInput<T>,
  layers: HeldLayers,
): T {
  const shared = readingStates(context, parameters, input);
  return runLayers(context, parameters, shared, input, sharedLayers(context.config), layers);
}

/** The states of retrieval from those after some layers. */
export const statesFrom = <T>(
  context: LayerContext<T>,
  parameters: LowerParameters<T>,
  states: T,
  input: Pick<EncoderInput<T>, "mask" | "buckets">,
  layers: HeldLayers,
): T => runLayers(context, parameters, states, input, layers);

/** Runs the lower layers from `first` until before `last`. */
function runLayers<T>(
  context: LayerContext<T>,
  { encoder }: LowerParameters<T>,
  states: T,
  { mask, buckets }: Pick<EncoderInput<T>, "mask" | "buckets">,
  first: number,
  last?: number,
): T {
  const { ops, config } = context;
  const bias = (): T =>
    ops.add(relativeBias(ops, encoder.relativeBias, buckets), maskBias(ops, mask));
  const layers = [
    ...(encoder.backbone?.blocks ?? []).map(
      (block) => (x: T) => bertBlocks(context, [block], x, mask),
    ),
    ...encoder.blocks
      .slice(0, config.retrievalLayer)
      .map((block) => (x: T) => encoderBlock(context, block, x, bias())),
  ];
  return layers.slice(first, last).reduce((x, layer) => layer(x), states);
}
