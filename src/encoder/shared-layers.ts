/**
 * The shared layers encode a question or a passage alone, for retrieval and for reading: layers 1
 * to B of ReAtt (section 2.2). Retrieval goes on in retrieval-layers.ts, reading in
 * joint-layers.ts.
 */

import type { LayerContext } from "../model/layers/context.ts";
import type { StackInput } from "../model/layers/layer-kind.ts";
import { embedWords, runStacks } from "../model/layers/stacks.ts";
import type { TextParameters } from "../model/parameters.ts";

/** Texts as token ids, with padding on either side. */
export interface TextInput<T> extends StackInput<T> {
  /** int32 [batch, length] */
  readonly ids: T;
}

/**
 * The states that retrieval and reading start from: -> [batch, length, sharedWidth].
 *
 * @param text of the model, or of its query side
 */
export function sharedStates<T>(
  context: LayerContext<T>,
  text: TextParameters<T>,
  input: TextInput<T>,
): T {
  const words = context.ops.gather(text.embedding, input.ids);
  const embedded = embedWords(context, text.shared, words, input.mask);
  return runStacks(context, text.shared, embedded, input);
}
