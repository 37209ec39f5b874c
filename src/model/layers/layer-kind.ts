/** The interface of a kind of layers, so that each stack of the model can be of any kind. */

import type { Leaf } from "../leaf.ts";
import type { HeadParameters, StacksOf } from "../parameters.ts";
import type { LayerKindName, StackOf } from "../stack.ts";
import type { LayerContext } from "./context.ts";

/** What layers read besides the states [batch, length, width]. */
export interface StackInput<T> {
  /** float32 [batch, length], 1 for a token and 0 for padding, which can stand on either side */
  readonly mask: T;
  /** `positionBuckets(config, "encoder", length)` */
  readonly buckets: T;
}

/** The prefixes of the names of a stack's weights. */
export interface StackNames {
  readonly stack: string;
  /** The stack that has the table of relative positions. */
  readonly bias: string;
  /** The width of the states that the stack reads. */
  readonly widthBefore: number;
  readonly relativeBuckets: number;
}

/** The names of a norm and of all matrices that read its output. */
export interface NormedMatrices {
  readonly norm: string;
  readonly matrices: readonly string[];
}

export interface LayerKind<Kind extends LayerKindName> {
  /** Declares the weights of a stack, in the order of the fingerprint. */
  parameters<T>(sizes: StackOf<Kind>, leaf: Leaf<T>, names: StackNames): StacksOf<T>[Kind];
  /** The states of words that the first layer of the model reads, from their vectors. */
  embed<T>(context: LayerContext<T>, stack: StacksOf<T>[Kind], words: T, mask: T): T;
  /** All layers: states -> states, [batch, length, width]. */
  run<T>(context: LayerContext<T>, stack: StacksOf<T>[Kind], x: T, input: StackInput<T>): T;
  /** The heads of the first layer. */
  heads<T>(stack: StacksOf<T>[Kind]): HeadParameters<T>;
  /** The norms whose output only matrices read (balance-columns.ts). */
  normed(stack: StacksOf<string>[Kind]): NormedMatrices[];
}
