/**
 * An adaptation, decided once: a run, and what only adaptations have. How many examples it has,
 * draws and holds out.
 */

import { heldOutCount, maxHeldOut } from "../examples/held-out.ts";
import { drawsFor, type Source } from "../examples/sources/source.ts";
import type { AdaptOptions, AdaptRequest } from "../options/adapt-options.ts";
import { type PlannedMeasurement, sampledMeasurement } from "../plan/pace.ts";
import type { PlannedExamples } from "../plan/plan.ts";
import { type Run, resolveRun, type StartingModel } from "../run/run.ts";
import type { AdaptationInputs } from "./inputs.ts";
import { type ChosenSources, sourcesIn } from "./label-free.ts";
import { withTokenWeights } from "./token-weights.ts";

export interface Adaptation extends Run {
  /** Whether the corpus is indexed at the end. */
  readonly writesIndex: boolean;
  /** Relative frequency of the sources. */
  readonly weights: Readonly<Record<string, number>>;
}

/**
 * Decides everything that options, model, corpus and sources determine.
 *
 * @param measuredPassages of a run that is resumed: see `Run.measurements`
 * @throws {InputError} as `resolveRun` does
 */
export function resolveAdaptation(
  options: AdaptRequest,
  start: StartingModel,
  corpus: { readonly size: number },
  { labelFree }: Pick<ChosenSources, "labelFree">,
  measuredPassages?: number,
): Adaptation {
  // The retrieval monitor measures on `dev`, and chooses the model.
  const config = withTokenWeights(start.config, options);
  const run = resolveRun({ ...options, dev: undefined }, { ...start, config }, corpus);
  const { index, weights = {} } = options;
  const average = options.average ?? (labelFree.length > 0 && isRefined(run, start));
  const measurements = { ...run.measurements, passages: measuredPassages };
  return { ...run, measurements, average, writesIndex: index && !run.keepsIndex, weights };
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

/** What retrieval is measured with, if each question has one relevant passage; or nothing. */
export function measuredWith(
  inputs: AdaptationInputs,
  options: Pick<AdaptOptions, "minutes">,
  passages: number,
): PlannedMeasurement | undefined {
  const { dev, questions, labels, sources } = inputs;
  const most = maxHeldOut(options);
  const ofFiles = [questions, labels].map(({ length }) => heldOutCount(length, most));
  const made = sources.labelFree.reduce((sum, { available }) => sum + available, 0);
  const heldOut = [...ofFiles, heldOutCount(made, most)].reduce((sum, count) => sum + count, 0);
  const what = dev ? "dev questions" : "held-out examples";
  return sampledMeasurement(what, dev?.length ?? heldOut, passages);
}

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

/** What the run trains on, for its plan. */
export function plannedExamples(inputs: AdaptationInputs, run: Adaptation): PlannedExamples {
  const { sources, answered } = inputs;
  const made = sources.labelFree.map(
    ({ source, available }) =>
      [source.name, Math.min(available, wantedExamples(run, sources, source))] as const,
  );
  const counts = new Map<string, number>([
    ...made,
    ...Object.entries(trainedExamples(inputs, run)),
  ]);
  return {
    sources: sourcesIn(sources).map(({ name }) => ({ name, examples: counts.get(name)! })),
    reason: sources.reason,
    answered,
    made: made.reduce((sum, [, count]) => sum + count, 0),
  };
}
