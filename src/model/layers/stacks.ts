/** Stacks of layers, whatever their kinds. */

import { affineLeaf, type Leaf } from "../leaf.ts";
import type { HeadParameters, StackParameters } from "../parameters.ts";
import type { LayerKindName, Stack } from "../stack.ts";
import { project } from "./attention.ts";
import { BERT } from "./bert.ts";
import type { LayerContext } from "./context.ts";
import type { LayerKind, NormedMatrices, StackInput, StackNames } from "./layer-kind.ts";
import { T5 } from "./t5.ts";

const KINDS: { readonly [Kind in LayerKindName]: LayerKind<Kind> } = { t5: T5, bert: BERT };

const kindOf = ({ kind }: Stack): LayerKind<LayerKindName> =>
  KINDS[kind] as LayerKind<LayerKindName>;

/** Declares the weights of a stack. */
export function stackParameters<T>(
  sizes: Stack,
  leaf: Leaf<T>,
  names: StackNames,
): StackParameters<T> {
  const { stack, widthBefore } = names;
  const shape = [sizes.width, widthBefore] as const;
  return {
    ...(sizes.inputMap && {
      inputMap: affineLeaf(leaf, `${stack}.input_map`, shape, widthBefore ** -0.5),
    }),
    ...kindOf(sizes).parameters(sizes, leaf, names),
  };
}

/** Runs stacks one after the other: states [batch, length, width before] -> [.., width after]. */
export const runStacks = <T>(
  context: LayerContext<T>,
  stacks: readonly StackParameters<T>[],
  states: T,
  input: StackInput<T>,
): T =>
  stacks.reduce((x, stack) => {
    const mapped = stack.inputMap ? project(context.ops, stack.inputMap, x) : x;
    return kindOf(stack.sizes).run(context, stack, mapped, input);
  }, states);

/**
 * The states that the first stack of a model reads: word vectors [batch, length, modelSize] -> the
 * same shape. Without a stack they are the word vectors, as in T5.
 */
export const embedWords = <T>(
  context: LayerContext<T>,
  [first]: readonly StackParameters<T>[],
  words: T,
  mask: T,
): T => (first ? kindOf(first.sizes).embed(context, first, words, mask) : context.dropout(words));

/** The first `count` layers of some stacks, and the others. */
export function divideStacks<T>(
  stacks: readonly StackParameters<T>[],
  count: number,
): [below: StackParameters<T>[], above: StackParameters<T>[]] {
  const [below, above]: [StackParameters<T>[], StackParameters<T>[]] = [[], []];
  let left = count;
  for (const { inputMap, ...stack } of stacks) {
    const first = Math.min(left, stack.layers.length);
    left -= first;
    const map = inputMap && { inputMap };
    if (first > 0) below.push(withLayers({ ...stack, ...map }, 0, first));
    if (first < stack.layers.length)
      above.push(withLayers({ ...stack, ...(first === 0 && map) }, first));
  }
  return [below, above];
}

const withLayers = <T>(stack: StackParameters<T>, first: number, end?: number) =>
  ({ ...stack, layers: stack.layers.slice(first, end) }) as StackParameters<T>;

/** The heads of the first layer of a stack. */
export const headsOf = <T>(stack: StackParameters<T>): HeadParameters<T> =>
  kindOf(stack.sizes).heads(stack);

/** The norms of a stack with the matrices that read them. */
export const normedMatrices = (stack: StackParameters<string>): NormedMatrices[] =>
  kindOf(stack.sizes).normed(stack);
