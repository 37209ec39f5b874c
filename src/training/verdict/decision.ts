/**
 * The one rule of `train` and `adapt`: which of the measured models is kept, and whether training
 * goes on. In the paper, a RAG model trained end to end fell to an nDCG@10 of 0 on BioASQ (ReAtt,
 * section 6).
 */

import { pairedDifference } from "../../evaluation/significance.ts";
import { mean } from "../../math/mean.ts";
import { standardError } from "../../math/standard-error.ts";
import type { Selection } from "../report/report.ts";
import { divide, type MeasuredSet } from "./measured-set.ts";
import type { MeasuredModel, Measurement, ModelKind } from "./measurements.ts";

/** A difference of mean reciprocal ranks, or of exact match, over the same questions. */
export interface Gain {
  /** After minus before, from -1 to 1. */
  readonly difference: number;
  /** The 95 % interval, by 10,000 bootstrap samples of the passages that questions are about. */
  readonly interval: readonly [low: number, high: number];
}

/** A measured model that is not kept, beside the given one. */
export interface RefusedModel {
  /** The step of its weights. */
  readonly step: number;
  /** What the model is. */
  readonly kind: ModelKind;
  /** Its gain over the given model, alone. */
  readonly gain: Gain;
  /** The gain in hybrid search. */
  readonly hybrid: Gain;
}

export interface Decision {
  readonly kept: MeasuredModel;
  /** What was chosen, and is not kept. */
  readonly refused?: RefusedModel | undefined;
}

/**
 * The model to keep at the end of a run: the chosen one, or the given one if the questions that
 * report find the chosen one clearly worse. The 95 % interval of the model alone, or of hybrid
 * search, then lies below 0. They choose nothing else: no other model takes its place.
 *
 * @param models at least the given one, which is the first
 */
export function decide(models: readonly MeasuredModel[]): Decision {
  const [start] = models as [MeasuredModel];
  const chosen = chosenOf(models);
  const { alone, hybrid } = reportedGains(start, chosen);
  if (![alone, hybrid].some(({ interval: [, high] }) => high < 0)) return { kept: chosen };
  const { step, kind } = chosen;
  return { kept: start, refused: { step, kind, gain: alone, hybrid } };
}

/**
 * The best model so far, by the questions that choose: that of highest exact match, where questions
 * are answered; then of highest mean reciprocal rank, of hybrid search first; of equal ones the
 * last. It is one of those that gain enough over the start (`BARS`, `answersAsWell`, `readsBetter`)
 * and do not read clearly worse. If none does, it is the start: the given model or, if they were
 * taken, the given model with token weights. Beside these, it must not be clearly below the given
 * model either, alone or in hybrid search.
 */
export function chosenOf<Model extends MeasuredModel>(models: readonly Model[]): Model {
  const [given] = models as [Model];
  const first = Math.max(
    0,
    models.findLastIndex(({ kind }) => kind === "token weights"),
  );
  const start = models[first]!;
  const gaining = models
    .slice(first + 1)
    .filter((model) => gains(start, model))
    .filter((model) => !readsWorse(start, model))
    .filter((model) => !findsWorse(given, model));
  return gaining.length > 0 ? gaining.reduce(better) : start;
}

/** The better of two models: each measure decides if those before it are equal. */
const better = <Model extends MeasuredModel>(best: Model, next: Model): Model => {
  const [a, b] = [best, next].map(
    ({ exactMatch = [0], hybrid, reciprocalRanks, f1 = [0], reading = [0] }) =>
      [exactMatch, hybrid.reciprocalRanks, reciprocalRanks, f1, reading].map(mean),
  ) as [number[], number[]];
  const decisive = a.findIndex((value, i) => value !== b[i]);
  return decisive === -1 || b[decisive]! > a[decisive]! ? next : best;
};

const gains = (start: Measurement, model: MeasuredModel): boolean =>
  start.exactMatch
    ? answersAsWell(start, model)
    : passes(start, model, model.kind === "mean" ? BARS.mean : BARS.trained) ||
      readsBetter(start, model);

/**
 * Whether a model answers more dev questions, by more than a standard error; or loses neither
 * answers nor retrieval, alone and in hybrid search. These are questions of people, on the whole
 * corpus, so no change is no reason against what was trained.
 */
function answersAsWell(start: Measurement, model: Measurement): boolean {
  const answers = [start.exactMatch!, model.exactMatch!] as const;
  return (
    meanInErrors(...answers) > 1 || (mean(answers[1]) >= mean(answers[0]) && findsAll(start, model))
  );
}

/**
 * Whether a model gives more right answers from the right passage, by more than a standard error,
 * and loses no retrieval: that of a run that trains what reads alone stays as it is.
 */
const readsBetter = (start: Measurement, { reading, ...model }: Measurement): boolean =>
  reading !== undefined && meanInErrors(start.reading!, reading) > 1 && findsAll(start, model);

/** Whether a model retrieves no worse than the start, alone and in hybrid search. */
const findsAll = (start: Measurement, model: Measurement): boolean =>
  mean(model.reciprocalRanks) >= mean(start.reciprocalRanks) &&
  mean(model.hybrid.reciprocalRanks) >= mean(start.hybrid.reciprocalRanks);

/** The trained model that retrieves best on the questions that choose, whatever was kept. */
export const bestTrained = (models: readonly MeasuredModel[]): MeasuredModel | undefined =>
  models
    .filter(({ kind }) => kind === "trained" || kind === "mean")
    .reduce<MeasuredModel | undefined>(
      (best, next) => (best ? better(best, next) : next),
      undefined,
    );

/**
 * What the model alone has to exceed, and hybrid search to reach, over another model. With d_i the
 * gain of reciprocal rank of question i, and se the standard error of their mean over groups of
 * questions (math/standard-error.ts), in units of
 *
 *     mean(d) / se(d)
 *
 * Without a bar, the highest of many measurements would often be higher by chance. The mean of the
 * weights before and after is near the start, so a wrong choice costs little, and examples made of
 * documents show little of a gain: there, any gain is enough.
 */
interface Bar {
  readonly alone: number;
  readonly hybrid: number;
}

/** A smaller loss, in standard errors, may be chance. */
const SIGNIFICANT_ERRORS = 2;
const BARS = {
  trained: { alone: 1, hybrid: 0 },
  mean: { alone: 0, hybrid: -1 },
  /** Not clearly worse. */
  same: { alone: -SIGNIFICANT_ERRORS, hybrid: -SIGNIFICANT_ERRORS },
} satisfies Record<string, Bar>;

/** Examples from which on one standard error is about a point of mean reciprocal rank. */
const MANY = 100;

/**
 * Whether to take token weights that were counted. Of 100 examples or more: unless retrieval with
 * them is clearly worse, since real questions gain more from them than examples made of documents.
 * Fewer examples miss a loss of several points, so they have to show a gain, as for training.
 */
export const takesTokenWeights = (before: Measurement, weighed: Measurement): boolean =>
  passes(before, weighed, before.reciprocalRanks.length < MANY ? BARS.trained : BARS.same);

const passes = (from: Measurement, to: Measurement, { alone, hybrid }: Bar): boolean =>
  gainOf(from, to) > alone &&
  meanInErrors(from.hybrid.reciprocalRanks, to.hybrid.reciprocalRanks, to.groups) >= hybrid;

/** Whether retrieval, alone or by hybrid search, fell by more than two standard errors. */
const findsWorse = (from: Measurement, to: Measurement): boolean =>
  [from, from.hybrid].some(({ reciprocalRanks }, i) => {
    const after = [to, to.hybrid][i]!.reciprocalRanks;
    return meanInErrors(after, reciprocalRanks, to.groups) > SIGNIFICANT_ERRORS;
  });

/** Whether exact match fell by more than two standard errors. */
const readsWorse = (start: Measurement, { reading }: Measurement): boolean =>
  reading !== undefined && meanInErrors(reading, start.reading!) > SIGNIFICANT_ERRORS;

type Ranks = Pick<Measurement, "reciprocalRanks" | "groups">;

/**
 * The mean gain of reciprocal rank from one model to another, in standard errors. Infinite for a
 * gain that is the same for all questions, 0 for no change, NaN for one question.
 */
export const gainOf = (from: Ranks, to: Ranks): number =>
  meanInErrors(from.reciprocalRanks, to.reciprocalRanks, to.groups);

/** The mean of `to - from` in its standard errors. */
function meanInErrors(
  from: readonly number[],
  to: readonly number[],
  groups?: readonly number[],
): number {
  const gains = to.map((value, i) => value - from[i]!);
  const gain = mean(gains);
  return gain === 0 ? 0 : gain / standardError(gains, groups);
}

/** Whether a model is clearly below another: by more than two standard errors. */
export const isBelow = (model: Ranks, best: Ranks): boolean =>
  gainOf(model, best) > SIGNIFICANT_ERRORS;

/** Measurements in a row that are clearly below the best one, after which a run ends. */
const MAX_FALLS = 3;

/** Why retrieval ends the run: the last measurements are clearly below the best one. */
export function fallOf(models: readonly MeasuredModel[]): string | undefined {
  const last = models.slice(-MAX_FALLS);
  if (last.length < MAX_FALLS || last[0]!.exactMatch) return undefined;
  const best = chosenOf(models);
  return last.every((model) => isBelow(model, best))
    ? `retrieval fell in ${MAX_FALLS} measurements in a row`
    : undefined;
}

/** Ranks by the examples that report; of few, by all. */
export const reportedRanks = ({ reported, reciprocalRanks, hybrid, groups }: Measurement) =>
  reported ?? { reciprocalRanks, hybrid: hybrid.reciprocalRanks, groups };

/** The gains of a model over another one, alone and in hybrid search, by those examples. */
export function reportedGains(from: Measurement, to: Measurement): { alone: Gain; hybrid: Gain } {
  const [start, end] = [reportedRanks(from), reportedRanks(to)];
  return {
    alone: pairedGain(start.reciprocalRanks, end.reciprocalRanks, start.groups),
    hybrid: pairedGain(start.hybrid, end.hybrid, start.groups),
  };
}

export function pairedGain(
  before: readonly number[],
  after: readonly number[],
  groups?: readonly number[],
): Gain {
  const { difference, interval } = pairedDifference(before, after, groups);
  return { difference, interval };
}

/** The rule in words, and the questions that choose. */
export function selectionOf(
  { questions, passages, reports }: MeasuredSet,
  average: boolean,
): Selection {
  const count = divide(questions, reports).choosing.length;
  if (!passages)
    return {
      questions: count,
      what: "dev questions",
      rule:
        "the highest exact match, then the highest mean reciprocal rank (MRR), of hybrid search " +
        "first, among the steps that answer more than the start by more than a standard error, or " +
        "lose neither answers nor retrieval, or else the start; the start too, if retrieval is " +
        "clearly worse",
    };
  const highest =
    "the highest mean reciprocal rank (MRR), of hybrid search first, among the steps that are " +
    "better than the start";
  const chosen = average
    ? `with the mean of the given weights and those of the step, ${highest}, and in hybrid search no ` +
      "worse by more than a standard error"
    : `${highest} by more than a standard error, and no worse in hybrid search; or that read ` +
      "better by as much, and lose no retrieval";
  return {
    questions: count,
    what: "held-out examples that choose",
    rule: `${chosen}, or else the start; the start too, if the examples that report are clearly worse`,
  };
}
