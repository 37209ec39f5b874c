/**
 * The three passes of the gradient cache on tensors. gradient-cache.ts explains and calls them;
 * objectives/passes.ts has their formulas. engine/onnx-passes.ts and engine/tensorflow-passes.ts
 * compute them.
 */

import type { Tensor } from "../../tensor/ops.ts";
import type { Loss, Objective } from "../objectives/objective.ts";
import type { StepPlan } from "../objectives/passes.ts";
import type { NamedTensor } from "../objectives/token-batch.ts";

/** Tensors by name. */
export type Tensors = Readonly<Record<string, Tensor>>;

/** Tensors by name, as inputs of a graph. */
export type NamedTensors = Readonly<Record<string, NamedTensor>>;

/** A loss and its terms. */
export interface LossValues {
  /** The weighted sum of the terms. */
  readonly loss: number;
  /** The terms by name. */
  readonly terms: Readonly<Record<string, number>>;
}

/** `dropout` has the inputs of objectives/dropout.ts. */
export interface GradientPasses {
  /** Pass 1: the kept outputs of a chunk. */
  keep(plan: StepPlan, chunk: NamedTensors, dropout: Tensors): Promise<Tensors>;
  /**
   * Pass 3: the loss of a chunk, and the outputs that the caller wants to see. Adds the gradients
   * of all trained parameters.
   *
   * @param cache the gradients of the kept outputs, where pass 2 was computed
   */
  chunk(
    plan: StepPlan,
    chunk: NamedTensors,
    dropout: Tensors,
    cache?: Tensors,
  ): Promise<LossValues & { readonly watched: Tensors }>;
  /**
   * Pass 2: the loss of the objectives that go across questions, and its gradients with respect to
   * the kept outputs. Adds the gradients of the learned scalars.
   */
  batch(plan: StepPlan, batch: NamedTensors): Promise<LossValues & { readonly gradients: Tensors }>;
}

/** Prefixes of the names of what passes give. */
export const [WATCHED, GRADIENT]: readonly [string, string] = ["watched:", "gradient:"];
const TERM = "term:";

export const prefixed = <T>(
  prefix: string,
  entries: Readonly<Record<string, T>>,
): Record<string, T> =>
  Object.fromEntries(Object.entries(entries).map(([name, value]) => [prefix + name, value]));

/** The entries whose names have a prefix, without it. */
export const named = (tensors: Tensors, prefix: string): Tensors =>
  Object.fromEntries(
    Object.entries(tensors)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, tensor]) => [name.slice(prefix.length), tensor]),
  );

/** A loss as named tensors, which `lossValues` reads. */
export const lossTensors = <T>({ loss, terms }: Loss<T>): Record<string, T> & { loss: T } => ({
  ...prefixed(TERM, terms),
  loss,
});

export const lossValues = (tensors: Tensors): LossValues => ({
  loss: tensors.loss!.data[0]!,
  terms: Object.fromEntries(
    Object.entries(named(tensors, TERM)).map(([name, { data }]) => [name, data[0]!]),
  ),
});

const numbers = new WeakMap<Objective, number>();
let next = 0;

/** Names the graphs of a plan for inputs of these sizes: equal names have equal graphs. */
export function graphName(
  { objectives, tau, held, watched = [] }: StepPlan,
  { isCandidate }: NamedTensors,
): string {
  const numberOf = (objective: Objective): number => {
    const known = numbers.get(objective) ?? next++;
    numbers.set(objective, known);
    return known;
  };
  const sizes = isCandidate!.shape.join(" x ");
  const names = objectives.map((objective) => `${objective.name} ${numberOf(objective)}`);
  return `${names.join(" + ")}, ${sizes}, tau ${tau}, held ${held}, watched ${watched.join()}`;
}
