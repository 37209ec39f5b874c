/**
 * The joint layers encode a question and a passage together, for reading: layers B + 1 to L of
 * ReAtt (section 2.2: the cross-encoder or "reader"). They begin with the states of the shared
 * layers.
 */

import type { LayerContext } from "../model/layers/context.ts";
import type { StackInput } from "../model/layers/layer-kind.ts";
import { runStacks } from "../model/layers/stacks.ts";
import type { ModelParameters } from "../model/parameters.ts";

/** Pairs of a question and a passage, as states of the shared layers. */
export interface PairInput<T> extends StackInput<T> {
  /**
   * [pairs, length, sharedWidth]: a question, directly after it a passage, padding on either side.
   */
  readonly states: T;
}

/** The states that the decoder attends to: -> [pairs, length, modelSize]. */
export function jointStates<T>(
  context: LayerContext<T>,
  { joint, finalNorm }: ModelParameters<T>,
  input: PairInput<T>,
): T {
  const { ops, config, dropout } = context;
  const states = runStacks(context, joint, input.states, input);
  return dropout(ops.rmsNorm(states, finalNorm, config.decoder.layerNormEpsilon));
}
