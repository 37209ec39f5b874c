/**
 * An adaptation, decided once: a run, and what only adaptations have. How many examples it has,
 * draws and holds out.
 */

import { heldOutCount } from "../examples/held-out.ts";
import { drawsFor, type Source } from "../examples/sources/source.ts";
import type { AdaptOptions, AdaptRequest } from "../options/adapt-options.ts";
import { type Run, resolveRun, type StartingModel } from "../run/run.ts";
import type { AdaptationInputs } from "./inputs.ts";
import { type ChosenSources, sourcesIn } from "./label-free.ts";
import { withTokenWeights } from "./token-weights.ts";

export interface Adaptation extends Run {
  /** Minutes that everything may take. Undefined: no limit. */
  readonly minutes: number | undefined;
  /** Steps between two measurements of retrieval. */
  readonly monitorSteps: number;
  /** Whether the corpus is indexed at the end. */
  readonly writesIndex: boolean;
  /** Relative frequency of the sources. */
  readonly weights: Readonly<Record<string, number>>;
}

/**
 * Decides everything that options, model, corpus and sources determine.
 *
 * @throws {InputError} as `resolveRun` does
 */
export function resolveAdaptation(
  options: AdaptRequest,
  start: StartingModel,
  corpus: { readonly size: number },
  { labelFree }: Pick<ChosenSources, "labelFree">,
): Adaptation {
  // The retrieval monitor measures on `dev`, and chooses the model.
  const config = withTokenWeights(start.config, options);
  const run = resolveRun({ ...options, dev: undefined }, { ...start, config }, corpus);
  const { minutes, monitorSteps, index, weights = {} } = options;
  const average = options.average ?? (labelFree.length > 0 && isRefined(run, start));
  return { ...run, minutes, monitorSteps, average, writesIndex: index && !run.keepsIndex, weights };
}

/** Whether a run trains retrieval, and the given model has learned to retrieve in the same way. */
const isRefined = (
  { objective, changesVectors, tau }: Run,
  { hasWeights }: Pick<StartingModel, "hasWeights">,
): boolean =>
  objective.objective === "retrieval" && hasWeights && !changesVectors && tau === undefined;

/** The largest number of the authors' experiments. */
const MAX_EXAMPLES = 100_000;
/** A tenth of these is enough for the retrieval monitor. */
const MIN_EXAMPLES = 1_000;
const MAX_HELD_OUT = 600;
/** Fewer in a short run: each measurement of retrieval indexes their passages. */
const HELD_OUT_PER_MINUTE = 20;

/** Maximum number of held-out examples of each source; label-free sources share it. */
export const maxHeldOut = ({ minutes = Infinity }: Pick<AdaptOptions, "minutes">): number =>
  Math.min(MAX_HELD_OUT, Math.ceil(HELD_OUT_PER_MINUTE * minutes));

/** The examples of the files to train on. */
export function trainedExamples(
  { questions, labels, dev }: AdaptationInputs,
  options: Pick<AdaptOptions, "minutes">,
): { questions: number; labels: number } {
  const kept = ({ length }: { readonly length: number }): number =>
    length - (dev ? 0 : heldOutCount(length, maxHeldOut(options)));
  return { questions: kept(questions), labels: kept(labels) };
}

/** Questions of people to measure with. */
export const heldOutQuestions = (
  { questions, dev }: Pick<AdaptationInputs, "questions" | "dev">,
  options: Pick<AdaptOptions, "minutes">,
): number => dev?.length ?? heldOutCount(questions.length, maxHeldOut(options));

/**
 * The examples to train on: those that can be made of documents, and those of the files; and
 * whether any question of a file has an answer.
 */
export function availableExamples(
  inputs: AdaptationInputs,
  options: Pick<AdaptOptions, "minutes">,
): { readonly count: number; readonly haveAnswers: boolean } {
  const { questions, labels } = trainedExamples(inputs, options);
  const made = inputs.sources.labelFree.reduce((sum, { available }) => sum + available, 0);
  return {
    count: questions + labels + Math.min(made, MAX_EXAMPLES),
    haveAnswers: inputs.questions.some(({ answers }) => answers.length > 0),
  };
}

/** The examples of a label-free source to make for a run. Some are not used. */
export function wantedExamples(
  { schedule: { iterations, steps }, batch: { questions }, weights }: Adaptation,
  sources: ChosenSources,
  source: Source,
): number {
  const sum = sourcesIn(sources).reduce((all, { name }) => all + (weights[name] ?? 1), 0);
  const weight = weights[source.name] ?? 1;
  const examples = Math.ceil((iterations * steps * questions * weight) / sum);
  return Math.max(MIN_EXAMPLES, Math.min(MAX_EXAMPLES, drawsFor(source, examples)));
}
