/**
 * The measurements of a run, and what follows from them: which model is kept, and whether training
 * goes on. Of held-out examples, one half chooses; verdict.ts reports what the other half says. In
 * the paper, a RAG model trained end to end fell to an nDCG@10 of 0 on BioASQ (ReAtt,
 * section 6).
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Measures } from "../../evaluation/measures.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { mean } from "../../math/mean.ts";
import { standardError } from "../../math/standard-error.ts";
import type { HybridWeights } from "../../model/config.ts";

/** Passages retrieved for each question. */
export const DEPTH = 100;
const CUTOFFS: readonly number[] = [1, 5, 20];

/** What was measured, for each question. */
interface QuestionMeasures {
  /** 1 / rank of the first relevant passage; 0 if none was retrieved. */
  readonly reciprocalRanks: readonly number[];
  /**
   * Questions about one passage have one number: they depend on one another. Default: all are about
   * different ones.
   */
  readonly groups?: readonly number[] | undefined;
  /** Of questions that are answered: whether the answer is right, and the F1 of its words. */
  readonly exactMatch?: readonly number[] | undefined;
  readonly f1?: readonly number[] | undefined;
}

/** The results of a model, alone and in hybrid search. */
export interface Measurement extends QuestionMeasures {
  /** With the weights that fit this model. */
  readonly hybrid: {
    readonly reciprocalRanks: readonly number[];
    readonly weights: HybridWeights;
  };
  /** Of the held-out examples that choose nothing; undefined if all choose. */
  readonly reported?: ReportedRanks | undefined;
  /**
   * Whether the answer from the relevant passage is right, of held-out examples with answers. Of
   * runs that train what reads.
   */
  readonly reading?: readonly number[] | undefined;
}

/** Reciprocal ranks of the model alone and of hybrid search, and the groups of the questions. */
export interface ReportedRanks {
  readonly reciprocalRanks: readonly number[];
  readonly hybrid: readonly number[];
  readonly groups?: readonly number[] | undefined;
}

export interface MeasurementRecord extends Measurement {
  /** Steps done by the model. */
  readonly step: number;
  /** Whether the model of this step was taken without a gain: see `bestOf`. Default: false. */
  readonly taken?: boolean | undefined;
  /** Whether it has the mean of its weights and the given ones. Default: false. */
  readonly averaged?: boolean | undefined;
}

/**
 * `mrr`, and `recall@k`: the share of questions with a relevant passage among the first k. With
 * answers also `exactMatch` and `f1`. From 0 to 1.
 */
export function measuresOf({ reciprocalRanks, exactMatch, f1 }: QuestionMeasures): Measures {
  const recall = CUTOFFS.map((k) => [
    `recall@${k}`,
    mean(reciprocalRanks.map((value) => Number(value >= 1 / k))),
  ]);
  return {
    mrr: mean(reciprocalRanks),
    ...Object.fromEntries(recall),
    ...(exactMatch && { exactMatch: mean(exactMatch) }),
    ...(f1 && { f1: mean(f1) }),
  };
}

/**
 * The record of the model to keep.
 *
 * Where questions are answered, it is that of the trained model with the highest exact match; of
 * equal ones the higher R@1, then F1, then the last. Exact match comes first because a model can
 * answer without a relevant passage. The start is kept while there is no other.
 *
 * Else it is that of highest mean reciprocal rank, of equal ones the last, if it is clearly better
 * than the start, if hybrid search with it is not worse, and if it does not read clearly worse. The
 * start is the first record or the last that was taken. Beside a taken start, it is also compared
 * with the first record: it must not be clearly below that one, alone or in hybrid search. With d_i
 * the gain of reciprocal rank of question i, and se the standard error of their mean over groups of
 * questions (math/standard-error.ts), clearly better means
 *
 *     mean(d) > se(d)
 *
 * Without this condition, the highest of many measurements would often be higher by chance. The
 * mean of the weights before and after is near the start, so a wrong choice costs little, and
 * examples made of documents show little of a gain: there, mean(d) > 0 is enough, and hybrid search
 * may lose one standard error.
 */
export function bestOf<Record extends MeasurementRecord>(records: readonly Record[]): Record {
  const first = Math.max(
    0,
    records.findLastIndex(({ taken }) => taken),
  );
  const start = records[first]!;
  const later = records.slice(first + 1);
  if (start.exactMatch)
    return later.reduce(better(["exactMatch", "recall@1", "f1"]), later[0] ?? start);
  return later
    .filter((record) => isGain(start, record, record.averaged ? OF_A_MEAN : CLEAR))
    .filter((record) => !readsWorse(start, record))
    .filter((record) => !isLoss(records[0]!, record))
    .reduce(better(["mrr"]), start);
}

/** Examples from which on one standard error is about a point of mean reciprocal rank. */
const MANY = 100;

/**
 * Whether to take token weights that were counted. Of 100 examples or more: unless retrieval with
 * them is clearly worse, since real questions gain more from them than examples made of documents.
 * Fewer examples miss a loss of several points, so they have to show a gain, as for training.
 */
export const takesTokenWeights = (before: Measurement, weighed: Measurement): boolean =>
  before.reciprocalRanks.length < MANY ? isGain(before, weighed) : !isLoss(before, weighed);

/** What the model alone has to exceed, and hybrid search to reach, in standard errors. */
const CLEAR = { alone: 1, hybrid: 0 };
const OF_A_MEAN = { alone: 0, hybrid: -1 };

/** Whether the gains of the model alone and of hybrid search are large enough. */
const isGain = (from: Measurement, to: Measurement, { alone, hybrid } = CLEAR): boolean =>
  gainOf(from, to) > alone && hybridGainOf(from, to) >= hybrid;

/** Whether the model alone, or hybrid search, is clearly worse. */
const isLoss = (from: Measurement, to: Measurement): boolean =>
  isBelow(to, from) || -hybridGainOf(from, to) > SIGNIFICANT_ERRORS;

/** Whether exact match fell by more than two standard errors. */
const readsWorse = (start: Measurement, { reading }: Measurement): boolean =>
  reading !== undefined && meanInErrors(reading, start.reading!) > SIGNIFICANT_ERRORS;

/** The better of two records: each measure decides if those before it are equal. */
const better =
  (measures: readonly string[]) =>
  <Record extends MeasurementRecord>(best: Record, next: Record): Record => {
    const [a, b] = [measuresOf(best), measuresOf(next)];
    const decisive = measures.find((name) => a[name] !== b[name]);
    return decisive === undefined || b[decisive]! > a[decisive]! ? next : best;
  };

/**
 * The mean gain of reciprocal rank from one record to another, in standard errors. Infinite for a
 * gain that is the same for all questions, 0 for no change.
 */
export const gainOf = (from: QuestionMeasures, to: QuestionMeasures): number =>
  meanInErrors(from.reciprocalRanks, to.reciprocalRanks, to.groups);

const hybridGainOf = (from: Measurement, to: Measurement): number =>
  meanInErrors(from.hybrid.reciprocalRanks, to.hybrid.reciprocalRanks, to.groups);

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

/** A smaller loss, in standard errors of the mean difference between questions, may be chance. */
const SIGNIFICANT_ERRORS = 2;
/** Measurements in a row that are clearly below the best one, after which a run ends. */
const MAX_FALLS = 3;

/**
 * Whether a record is clearly below another. With d_i the loss of reciprocal rank of question i,
 *
 *     mean(d) > 2 se(d)
 */
export const isBelow = (record: QuestionMeasures, best: QuestionMeasures): boolean =>
  gainOf(record, best) > SIGNIFICANT_ERRORS;

/** Why retrieval ends the run: the last measurements are clearly below the best one. */
export function fallOf(records: readonly MeasurementRecord[]): string | undefined {
  const last = records.slice(-MAX_FALLS);
  if (last.length < MAX_FALLS || last[0]!.exactMatch) return undefined;
  const best = bestOf(records);
  return last.every((record) => isBelow(record, best))
    ? `retrieval fell in ${MAX_FALLS} measurements in a row`
    : undefined;
}

const fileOf = (folder: string): string => join(folder, "checkpoint", "measurements.json");
const numbers = z.array(z.number());
const weights = z.object({ lambda: z.number(), k1: z.number(), b: z.number() });
/** Its order is that of a record, so a resumed run writes the bytes of one that was not stopped. */
const description = z.array(
  z.object({
    step: z.int(),
    reciprocalRanks: numbers,
    groups: numbers.optional(),
    hybrid: z.object({ weights, reciprocalRanks: numbers }),
    exactMatch: numbers.optional(),
    f1: numbers.optional(),
    reported: z
      .object({ reciprocalRanks: numbers, hybrid: numbers, groups: numbers.optional() })
      .optional(),
    reading: numbers.optional(),
    taken: z.boolean().optional(),
    averaged: z.boolean().optional(),
  }),
);

/** Saves the records for a resumed run. */
export async function writeRecords(
  folder: string,
  records: readonly MeasurementRecord[],
): Promise<void> {
  await replaceFile(fileOf(folder), (handle) => handle.writeFile(JSON.stringify(records)));
}

/** The records up to `step`, from which the run is resumed. */
export async function readRecords(folder: string, step: number): Promise<MeasurementRecord[]> {
  const records = description.parse(JSON.parse(await readFile(fileOf(folder), "utf8")));
  return records.filter((record) => record.step <= step);
}
