/** The models that a run measured, with what was measured. A resumed run reads them. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Measures } from "../../evaluation/measures.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { mean } from "../../math/mean.ts";

/** Passages retrieved for each question. */
export const DEPTH = 100;
const CUTOFFS: readonly number[] = [1, 5, 20];

/**
 * What a model of a run is: the given one; the given one with counted token weights; the mean of
 * the given weights and those after some steps; or those after some steps.
 */
const KINDS = ["start", "token weights", "mean", "trained"] as const;
export type ModelKind = (typeof KINDS)[number];

const numbers = z.array(z.number()).readonly();
const weights = z.object({ lambda: z.number(), k1: z.number(), b: z.number() });

/** The order of the keys is that in the file: a resumed run writes the same bytes. */
const description = z.object({
  /** Steps done. */
  step: z.int(),
  kind: z.enum(KINDS),
  /** For each question 1 / rank of the first relevant passage; 0 if none was retrieved. */
  reciprocalRanks: numbers,
  /** Questions about one passage have one number: they depend on one another. */
  groups: numbers.optional(),
  /** The same by hybrid search, with the weights that fit this model. */
  hybrid: z.object({ weights, reciprocalRanks: numbers }),
  /** Of questions that are answered: whether the answer is right, and the F1 of its words. */
  exactMatch: numbers.optional(),
  f1: numbers.optional(),
  /** The same of measures of one's own, by their names. */
  own: z.record(z.string(), numbers).optional(),
  /** Of the held-out examples that choose nothing; undefined if all choose. */
  reported: z
    .object({ reciprocalRanks: numbers, hybrid: numbers, groups: numbers.optional() })
    .optional(),
  /**
   * Whether the answer from the relevant passage is right, of held-out examples with answers. Of
   * runs that train what reads.
   */
  reading: numbers.optional(),
});

/** A model of a run, and what was measured of it. */
export type MeasuredModel = Readonly<z.infer<typeof description>>;
/** What was measured of a model. */
export type Measurement = Omit<MeasuredModel, "step" | "kind">;

/**
 * `mrr`, and `recall@k`: the share of questions with a relevant passage among the first k. With
 * answers also `exactMatch`, `f1`, and measures of one's own as `measure/NAME`. From 0 to 1.
 */
export function measuresOf({
  reciprocalRanks,
  exactMatch,
  f1,
  own = {},
}: Pick<Measurement, "reciprocalRanks" | "exactMatch" | "f1" | "own">): Measures {
  const recall = CUTOFFS.map((k) => [
    `recall@${k}`,
    mean(reciprocalRanks.map((value) => Number(value >= 1 / k))),
  ]);
  return {
    mrr: mean(reciprocalRanks),
    ...Object.fromEntries(recall),
    ...(exactMatch && { exactMatch: mean(exactMatch) }),
    ...(f1 && { f1: mean(f1) }),
    ...Object.fromEntries(
      Object.entries(own).map(([name, values]) => [`measure/${name}`, mean(values)]),
    ),
  };
}

const fileOf = (folder: string): string => join(folder, "checkpoint", "measurements.json");

/** Saves the models for a resumed run. */
export async function writeMeasured(
  folder: string,
  models: readonly MeasuredModel[],
): Promise<void> {
  await replaceFile(fileOf(folder), (handle) => handle.writeFile(JSON.stringify(models)));
}

/** The models up to `step`, from which the run is resumed. */
export async function readMeasured(folder: string, step: number): Promise<MeasuredModel[]> {
  const models = z.array(description).parse(JSON.parse(await readFile(fileOf(folder), "utf8")));
  return models.filter((model) => model.step <= step);
}
