/**
 * The layers of a text alone that a run does not train. The states of a text after them are
 * computed once and held (../engine/held-states.ts): later steps begin with them.
 */

import { sharedStates, type TextInput } from "../../encoder/shared-layers.ts";
import type { ModelConfig } from "../../model/config.ts";
import type { LayerContext } from "../../model/layers/context.ts";
import type { StackInput } from "../../model/layers/layer-kind.ts";
import { divideStacks, runStacks } from "../../model/layers/stacks.ts";
import { namesIn, parameterNames } from "../../model/parameter-names.ts";
import type { StackParameters, TextParameters } from "../../model/parameters.ts";
import { countLayers, widthAfter } from "../../model/stack.ts";

/** The number of leading layers whose states are held: all that reading shares, or more. */
export type HeldLayers = number;

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
  const { embedding, ...text } = parameterNames(config);
  const [first] = text.shared;
  const words = first && "embeddings" in first ? first.embeddings : {};
  if (isTrained({ embedding, words })) return undefined;
  const untrained = layersOf(text).findIndex(isTrained);
  const held = untrained < 0 ? layersOf(text).length : untrained;
  const shared = countLayers(config.shared);
  if (held === 0 || held < shared) return undefined;
  return isRead ? shared || undefined : held;
}

type TextStacks<T> = Pick<TextParameters<T>, "shared" | "retrieval">;

/** The names of each layer, with those of what stands before its stack or belongs to all of it. */
const layersOf = ({ shared, retrieval }: TextStacks<string>): object[] =>
  [...shared, ...retrieval].flatMap(({ layers, inputMap, ...stack }) =>
    layers.map((layer, i) => ({
      layer,
      map: i === 0 ? inputMap : undefined,
      bias: "relativeBias" in stack ? stack.relativeBias : undefined,
    })),
  );

const divided = <T>(
  { shared, retrieval }: TextStacks<T>,
  layers: HeldLayers,
): [below: StackParameters<T>[], above: StackParameters<T>[]] =>
  divideStacks([...shared, ...retrieval], layers);

/** The width of held states. */
export function heldWidth(config: ModelConfig, layers: HeldLayers): number {
  const [below] = divided(parameterNames(config), layers);
  return widthAfter(
    below.map(({ sizes }) => sizes),
    config.modelSize,
  );
}

/** The states of a text after some layers: -> [batch, length, heldWidth]. */
export function statesAfter<T>(
  context: LayerContext<T>,
  text: TextParameters<T>,
  input: TextInput<T>,
  layers: HeldLayers,
): T {
  const [below] = divided(text, layers);
  return sharedStates(context, { ...text, shared: below }, input);
}

/** The states of retrieval from those after some layers. */
export function statesFrom<T>(
  context: LayerContext<T>,
  text: TextParameters<T>,
  states: T,
  input: StackInput<T>,
  layers: HeldLayers,
): T {
  const [, above] = divided(text, layers);
  return runStacks(context, above, states, input);
}
