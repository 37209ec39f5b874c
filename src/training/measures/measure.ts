/** Measures of one's own: of the answers to the questions of `dev`, beside exact match and F1. */

import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import { resolveOptions } from "../../options/resolve.ts";
import type { MonitorQuestion } from "../examples/training-data.ts";
import type { SampleReply } from "../report/report.ts";

/** A question of `dev`, and what the current model answers. */
export interface MeasuredReply extends SampleReply {
  /** Its text. */
  readonly question: string;
  /** Accepted answers; none if the documents do not answer it. */
  readonly answers: readonly string[];
  /** Ids of the passages that are known to be relevant. */
  readonly relevant: readonly string[];
}

/**
 * A measure, made with {@link defineMeasure}.
 *
 * @example
 * ```ts
 * import { defineMeasure, type Measure } from "reatt/training";
 *
 * const answered: Measure = defineMeasure({
 *   name: "answered",
 *   of: ({ answer }) => Number(answer !== ""),
 * });
 * console.log(answered.name); // answered
 * ```
 */
export interface Measure<Name extends string = string> {
  /** What events, log and report call it: `measure/NAME`. */
  readonly name: Name;
  /** Of one question, from 0 to 1; the measure is the mean. */
  of(reply: MeasuredReply): number;
}

const NAME = "letters, digits and -, with a letter first";
const FIELDS = {
  name: z.string(NAME).regex(/^[a-z][a-z\d-]*$/i, NAME),
  of: z.custom<Measure["of"]>((given) => typeof given === "function", "a function"),
};

const NAMES = "measures of defineMeasure with different names";

/** The option `measures`, which has no flag. */
export const MEASURES: {
  readonly measures: z.ZodOptional<z.ZodCustom<readonly Measure[], readonly Measure[]>>;
} = { measures: z.custom<readonly Measure[]>(areMeasures, NAMES).optional() };

function areMeasures(given: unknown): boolean {
  const all = z.array(z.strictObject(FIELDS)).safeParse(given);
  return all.success && new Set(all.data.map(({ name }) => name)).size === all.data.length;
}

/**
 * Makes a measure for `train` and `adapt`: `measures: [cited]`, with `dev`. It is measured whenever
 * `dev` is, and reported; it does not choose the model that is kept. A resumed run measures it from
 * there on if it is given again.
 *
 * @throws {InputError} for a field that is unknown, missing, or of another type
 *
 * @example
 * ```ts
 * import { defineMeasure } from "reatt/training";
 *
 * const cited = defineMeasure({
 *   name: "cited",
 *   of: ({ answer, passages }) =>
 *     Number(answer !== "" && passages.slice(0, 1).some(({ text }) => text.includes(answer))),
 * });
 *
 * const passages = [{ id: "owl", title: "", text: "The owl hunts at night.", score: 0.9 }];
 * const asked = { question: "When does it hunt?", answers: ["night"], relevant: ["owl"] };
 * console.log(cited.of({ ...asked, answer: "at night", passages })); // 1
 * ```
 */
export function defineMeasure<const Name extends string>(measure: Measure<Name>): Measure<Name> {
  resolveOptions(FIELDS, measure as object as Record<keyof typeof FIELDS, never>, "measure");
  return measure;
}

/**
 * The measures of each question.
 *
 * @throws {InputError} for a value that is no number from 0 to 1
 */
export function ownScores(
  measures: readonly Measure[],
  questions: readonly MonitorQuestion[],
  replies: readonly SampleReply[],
): Record<string, number[]> {
  const scoresOf = (measure: Measure): number[] =>
    questions.map(({ question, answers = [], relevant }, i) => {
      const value = measure.of({ question, answers, relevant, ...replies[i]! });
      if (typeof value === "number" && value >= 0 && value <= 1) return value;
      throw new InputError({
        where: `measure ${measure.name} of "${question.slice(0, 40)}"`,
        expected: "a number from 0 to 1",
        got: excerpt(value),
        remedy: "correct its function",
      });
    });
  return Object.fromEntries(measures.map((measure) => [measure.name, scoresOf(measure)]));
}
