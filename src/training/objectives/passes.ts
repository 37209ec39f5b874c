/**
 * The three passes of the gradient cache (../gradient-cache/gradient-cache.ts) as functions over
 * `Ops`: engine/onnx-passes.ts traces them, engine/tensorflow-backend.ts runs them.
 */

import type { ModelConfig } from "../../model/config.ts";
import { inferenceContext, type LayerContext } from "../../model/layers/context.ts";
import type { Ops, Tensor } from "../../tensor/ops.ts";
import { type ForwardContext, type ForwardSettings, modelOutputs, TEACHER } from "./forward.ts";
import type { ModelInputs } from "./model-inputs.ts";
import { type Loss, lossOf, needsOf, type Objective } from "./objective.ts";
import {
  type KeptName,
  keptFor,
  lazily,
  type ModelOutputs,
  type OutputName,
  retrievalOutputs,
  type ScoringParameters,
} from "./outputs.ts";
import type { NamedTensor } from "./token-batch.ts";
import { keepsKeys, type Trained, type TrainedParameters } from "./trained-parameters.ts";

/** What is the same in all steps of a run. */
export interface StepSettings extends Pick<ForwardSettings, "tau"> {
  readonly trained: Trained;
  /** The share of values that dropout sets to 0. */
  readonly dropout: number;
}

/** The objectives of a step, and how its chunks are computed. */
export interface StepPlan extends ForwardSettings {
  readonly objectives: readonly Objective[];
  /** Outputs that the caller wants to see. Default: none. */
  readonly watched?: readonly WatchedName[] | undefined;
}

export type WatchedName = KeptName | "scores";

/** The inputs of a chunk: those of the model, and those of `inputsOf`. */
export type ChunkInputs<T> = ModelInputs<T> & Readonly<Record<string, T>>;

/** The objectives whose terms depend on other questions of the batch. */
export const acrossQuestions = ({ objectives }: StepPlan): Objective[] =>
  objectives.filter((objective) => objective.acrossQuestions);

/** The outputs that pass 1 computes, and pass 2 has gradients of. */
export const keptOutputs = (plan: StepPlan): KeptName[] =>
  keptFor(needsOf(acrossQuestions(plan))).filter((name) => !(plan.isTaught && name === TEACHER));

/** The contexts of a chunk, with the dropout of its engine. */
export function forwardContext<T>(
  ops: Ops<T>,
  config: ModelConfig,
  { trained }: StepSettings,
  dropout: LayerContext<T>["dropout"],
): ForwardContext<T> {
  const questions = { ops, config, dropout };
  const passages = keepsKeys(config, trained) ? inferenceContext(ops, config) : questions;
  return { questions, passages };
}

const outputsOf = <T>(
  contexts: ForwardContext<T>,
  parameters: TrainedParameters<T>,
  input: ChunkInputs<T>,
  plan: StepPlan,
): ModelOutputs<T> => modelOutputs(contexts, parameters, input, allNeeds(plan), plan);

/** What the chunks have to compute, in all passes together. */
export const allNeeds = ({ objectives, watched = [] }: StepPlan): Set<OutputName> =>
  new Set([
    ...needsOf(objectives),
    ...watched.map((name) => (name === "scores" ? "retrieval" : name)),
  ]);

/** All outputs of a chunk that some pass reads. */
export function forwardPass<T>(
  contexts: ForwardContext<T>,
  parameters: TrainedParameters<T>,
  input: ChunkInputs<T>,
  plan: StepPlan,
): Record<string, T> {
  const outputs = outputsOf(contexts, parameters, input, plan);
  return Object.fromEntries(keptFor(allNeeds(plan)).map((name) => [name, outputs[name]]));
}

/** Pass 1: the outputs of a chunk that are kept, without gradients. */
export function keptPass<T>(
  contexts: ForwardContext<T>,
  parameters: TrainedParameters<T>,
  input: ChunkInputs<T>,
  plan: StepPlan,
): Record<string, T> {
  const outputs = outputsOf(contexts, parameters, input, plan);
  return Object.fromEntries(keptOutputs(plan).map((name) => [name, outputs[name]]));
}

/** Pass 2: the loss of the objectives that go across questions, from what was kept. */
export function batchPass<T>(
  ops: Ops<T>,
  parameters: ScoringParameters<T>,
  input: Readonly<Record<string, T>>,
  plan: StepPlan,
): Loss<T> {
  const kept = input as Readonly<Record<KeptName | "questionMask" | "passageMask", T>>;
  const retrieval = () =>
    retrievalOutputs(ops, kept, parameters, plan.tau, {
      candidatePositions: input.candidatePositions!,
      isCandidate: input.isCandidate!,
    });
  const outputs: ModelOutputs<T> = Object.assign(lazily({ retrieval }), kept);
  return lossOf(ops, acrossQuestions(plan), outputs, input);
}

/** What pass 3 computes for a chunk. */
export interface ChunkLoss<T> extends Loss<T> {
  /** []: its gradient is that of the chunk's part of the loss; the value has no meaning. */
  readonly minimised: T;
  readonly watched: Readonly<Record<string, T>>;
}

/**
 * Pass 3: the terms of a chunk. Without a cache, all of them: the chunk is the whole batch. With
 * one, those that do not go across questions. The inner product of the outputs with their cached
 * gradients g then takes the place of the others, because d(g v) = (dL / dv) dv.
 *
 * @param cache the gradients of the batch's loss with respect to the kept outputs of the chunk
 */
export function chunkPass<T>(
  contexts: ForwardContext<T>,
  parameters: TrainedParameters<T>,
  input: ChunkInputs<T>,
  plan: StepPlan,
  cache?: Readonly<Record<string, T>>,
): ChunkLoss<T> {
  const { ops } = contexts.questions;
  const outputs = outputsOf(contexts, parameters, input, plan);
  const own = plan.objectives.filter((objective) => !cache || !objective.acrossQuestions);
  const { loss, terms } = lossOf(ops, own, outputs, input);
  const watched = Object.fromEntries(
    (plan.watched ?? []).map((name) => [
      name,
      name === "scores" ? outputs.retrieval.scores : outputs[name],
    ]),
  );
  const cached = Object.entries(cache ?? {}).map(([name, gradient]) => {
    const values = outputs[name as KeptName];
    const axes = ops.shape(values).map((_, axis) => axis);
    return ops.sum(ops.multiply(values, gradient), axes);
  });
  const minimised = cached.reduce((sum, part) => ops.add(sum, part), loss);
  return { loss, terms, minimised, watched };
}

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
  { objectives, tau, held, isTaught, watched = [] }: StepPlan,
  { isCandidate }: NamedTensors,
): string {
  const numberOf = (objective: Objective): number => {
    const known = numbers.get(objective) ?? next++;
    numbers.set(objective, known);
    return known;
  };
  const sizes = isCandidate!.shape.join(" x ");
  const names = objectives.map((objective) => `${objective.name} ${numberOf(objective)}`);
  return `${names.join(" + ")}, ${sizes}, tau ${tau}, held ${held}${isTaught ? ", taught" : ""}, watched ${watched.join()}`;
}
