/**
 * An objective: what a training step minimises, or a part of it.
 *
 * A run has a list of objectives. Each of them has terms, which are scalars with a name and a
 * weight. The loss of a batch is the weighted sum of all terms, and `lossOf` is the only place that
 * computes it. The log, the report and the charts show the same terms.
 *
 * The gradient cache (../gradient-cache/gradient-cache.ts) computes any objective in chunks.
 */

import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import type { Ops } from "../../tensor/ops.ts";
import type { ModelOutputs, OutputName } from "./outputs.ts";
import type { NamedTensor, TokenBatch, TokenExample } from "./token-batch.ts";

/** A scalar of the loss. */
export interface Term {
  /** The factor in the loss. A term of weight 0 is only logged. */
  readonly weight: number;
  /** The title of its chart in the report. */
  readonly title: string;
  /** What it is and what it shows, in a sentence or two, below the title. */
  readonly meaning: string;
}

/** Inputs that every objective has beside its own. */
export type CommonInput =
  /** A number: questions of the whole batch that some objective of the list trains, at least 1 */
  | "questions"
  /** float32 [Q, K]: 1 for a candidate, 0 for padding */
  | "isCandidate";

/**
 * An objective, made with {@link defineObjective}.
 *
 * @example
 * ```ts
 * import { labels, type Objective } from "reatt/training";
 *
 * const objective: Objective = labels({ weight: 2 });
 * console.log(Object.keys(objective.terms)); // [ 'labels' ]
 * ```
 *
 * @typeParam Output the outputs of the model that it needs
 * @typeParam Input the names of its inputs
 * @typeParam Name the names of its terms
 */
export interface Objective<
  Output extends OutputName = OutputName,
  Input extends string = string,
  Name extends string = string,
> {
  /** The name in logs and reports. */
  readonly name: string;
  /** What the model has to compute. */
  readonly needs: readonly Output[];
  /**
   * Whether the terms of a question depend on other questions of the batch, as with in-batch
   * negatives. Otherwise each chunk of a batch computes its share of the terms, as a sum.
   */
  readonly acrossQuestions: boolean;
  /** Its terms by name, with their weights. */
  readonly terms: Readonly<Record<Name, Term>>;
  /** Whether it learns from an example. A step without such examples leaves the objective out. */
  trains(example: TokenExample): boolean;
  /** Its inputs, for the examples of a batch or of a chunk. */
  inputs(batch: TokenBatch): Readonly<Record<Input, NamedTensor>>;
  /**
   * The terms: averages over the questions of the whole batch, or over what the objective counts.
   * Only operations of `ops` can be used, so that the terms have gradients on each engine.
   */
  compute<T>(
    ops: Ops<T>,
    outputs: Pick<ModelOutputs<T>, Output>,
    inputs: Readonly<Record<Input | CommonInput, T>>,
  ): Readonly<Record<Name, T>>;
}

/**
 * Makes an objective. Its types follow from what it needs, and from its inputs and terms.
 *
 * @example
 * ```ts
 * import { defineObjective, distillation, openTrainer, reading } from "reatt/training";
 *
 * const entropy = defineObjective({
 *   name: "entropy",
 *   needs: ["retrieval"],
 *   acrossQuestions: true,
 *   terms: {
 *     negentropy: {
 *       weight: 0.1,
 *       title: "Negative entropy of retrieval",
 *       meaning: "It rises towards 0 while retrieval becomes certain of one passage.",
 *     },
 *   },
 *   trains: () => true,
 *   inputs: () => ({}),
 *   compute(ops, { retrieval }, { questions }) {
 *     const logs = ops.logSoftmax(retrieval.logits); // [Q, U]
 *     const sum = ops.sum(ops.multiply(ops.exp(logs), logs), [0, 1]);
 *     return { negentropy: ops.divide(sum, questions) };
 *   },
 * });
 *
 * const paris = { id: "1", title: "Paris", text: "Paris is the capital of France." };
 * const rome = { id: "2", title: "Rome", text: "Rome is the capital of Italy." };
 * const objective = [reading(), distillation(), entropy];
 * await using trainer = await openTrainer("models/reatt-mini", { objective });
 * const { terms } = await trainer.step({
 *   questions: ["What is the capital of France?"],
 *   answers: ["Paris"],
 *   passages: [[paris, rome]],
 * });
 * console.log(Object.keys(terms)); // [ 'nll', 'kl', 'ownProbability', 'negentropy' ]
 * ```
 */
export const defineObjective = <
  const Output extends OutputName,
  Input extends string,
  Name extends string,
>(
  objective: Objective<Output, Input, Name>,
): Objective => objective as unknown as Objective;

/** Names that the log has for other things than terms. */
const TAKEN = new Set(["loss", "step", "seconds", "gradientNorm", "learningRate", "scale"]);

/** @throws {InputError} unless there are objectives, whose names and terms are different */
export function checkObjectives(objectives: readonly Objective[]): void {
  const problem = (expected: string, got: string): InputError =>
    new InputError({
      where: "objective",
      expected,
      got,
      remedy: "make objectives with defineObjective, each with names of its own",
    });
  if (objectives.length === 0) throw problem("one or more", "none");
  const found = new Set<string>();
  const terms = new Set(TAKEN);
  for (const { name, terms: own, compute } of objectives) {
    if (typeof compute !== "function") throw problem("an objective", excerpt(name));
    if (found.has(name)) throw problem("different names", `${name} twice`);
    found.add(name);
    for (const term of Object.keys(own)) {
      if (terms.has(term)) throw problem("different terms", `${term} twice`);
      terms.add(term);
    }
  }
}

/** The terms of several objectives by name. */
export const termsOf = (objectives: readonly Objective[]): ReadonlyMap<string, Term> =>
  new Map(objectives.flatMap(({ terms }) => Object.entries(terms)));

/** What the model has to compute for several objectives. */
export const needsOf = (objectives: readonly Objective[]): ReadonlySet<OutputName> =>
  new Set(objectives.flatMap(({ needs }) => needs));

/** The inputs of several objectives for a batch, and those that they have in common. */
export function inputsOf(
  objectives: readonly Objective[],
  common: Readonly<Record<CommonInput, NamedTensor>>,
  batch: TokenBatch,
): Record<string, NamedTensor> {
  const own = objectives.flatMap((objective) =>
    Object.entries(objective.inputs(batch)).map(
      ([name, tensor]) => [`${objective.name}.${name}`, tensor] as const,
    ),
  );
  return { ...common, ...Object.fromEntries(own) };
}

/** The loss [], and the terms [] by name. */
export interface Loss<T> {
  readonly loss: T;
  readonly terms: Readonly<Record<string, T>>;
}

/**
 * The loss of several objectives: the sum of their terms times their weights.
 *
 * @param inputs those of `inputsOf`
 */
export function lossOf<T>(
  ops: Ops<T>,
  objectives: readonly Objective[],
  outputs: ModelOutputs<T>,
  inputs: Readonly<Record<string, T>>,
): Loss<T> {
  const terms: Record<string, T> = {};
  let loss: T | undefined;
  for (const objective of objectives) {
    const computed = objective.compute(ops, outputs, ownInputs(objective, inputs));
    for (const [name, { weight }] of Object.entries(objective.terms)) {
      const value = computed[name]!;
      terms[name] = value;
      if (weight === 0) continue;
      const weighted = weight === 1 ? value : ops.multiply(value, ops.scalar(weight));
      loss = loss === undefined ? weighted : ops.add(loss, weighted);
    }
  }
  return { loss: loss ?? ops.scalar(0), terms };
}

/** The inputs of an objective by the names that it gave them. */
function ownInputs<T>({ name }: Objective, inputs: Readonly<Record<string, T>>): Record<string, T> {
  const prefix = `${name}.`;
  return Object.fromEntries(
    Object.entries(inputs).map(([input, value]) => [
      input.startsWith(prefix) ? input.slice(prefix.length) : input,
      value,
    ]),
  );
}
