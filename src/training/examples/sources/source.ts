/** What a source of examples is. The sources of this package are in list.ts. */

import { z } from "zod";
import { flag, number, text } from "../../../options/option.ts";
import { resolveOptions } from "../../../options/resolve.ts";
import type { Example, Passages } from "../example.ts";
import type { Sample } from "./sampling.ts";
import type { Survey } from "./survey.ts";

/**
 * A source of examples: what it makes of the passages of a corpus. Made with {@link defineSource}.
 *
 * @example
 * ```ts
 * import { defineSource, type Source } from "reatt/training";
 *
 * const empty: Source = defineSource({
 *   name: "nothing",
 *   relevant: "none",
 *   stage: "making nothing",
 *   draws: 1,
 *   async *examples() {},
 * });
 * console.log(empty.name); // nothing
 * ```
 *
 * @typeParam Name its name, as a type
 */
export interface Source<Name extends string = string> {
  /** On the command line, in plan and report, and in names of files: letters, digits and `-`. */
  readonly name: Name;
  /** Which passages are relevant to its examples, in words, for the report. */
  readonly relevant: string;
  /** What progress says while examples are made, such as "making crops". */
  readonly stage: string;
  /**
   * How many examples to make for each one to train on, from 1 on. A run leaves out those without a
   * candidate that helps, so a source with many of them makes more.
   */
  readonly draws: number;
  /**
   * Whether `auto` tries it on a corpus like this. It is then chosen if it has an example for every
   * tenth passage. Default: no corpus.
   */
  readonly suits?: ((survey: Survey) => boolean) | undefined;
  /**
   * Whether examples take long to make. A plan then counts none, and expects five of each passage.
   * Default false.
   */
  readonly isSlow?: boolean | undefined;
  /**
   * The examples, about `sample.wanted`. The seed decides which, so that a run can be repeated.
   *
   * @param passages the corpus, each passage as far as training reads it
   */
  examples(passages: Passages, sample: Sample): AsyncIterable<Example>;
}

/** What a run needs to know of any source, also of one that reads a file. */
export type SourceTraits<Name extends string = string> = Pick<
  Source<Name>,
  "name" | "relevant" | "draws"
>;

const NAME = "small letters, digits and -, with a letter first";
const callback = () =>
  z.custom<(...values: never[]) => unknown>((given) => typeof given === "function", "a function");

const FIELDS = {
  name: z.string(NAME).regex(/^[a-z][a-z\d-]*$/, NAME),
  relevant: text(),
  stage: text(),
  draws: number({ from: 1 }),
  suits: callback().optional(),
  isSlow: flag().optional(),
  examples: callback(),
};

/**
 * Makes a source of examples for `adapt`: `sources: ["crops", openings]`. It trains on them as on
 * those of its own sources: some are held out, each gets candidates, and a resumed run, to which
 * the source is given again, reads the same ones.
 *
 * @throws {InputError} for a field that is unknown, missing, or of another type
 *
 * @example
 * ```ts
 * import { defineSource } from "reatt/training";
 *
 * const openings = defineSource({
 *   name: "openings",
 *   relevant: "the passage that begins with the words",
 *   stage: "taking the first words of passages",
 *   draws: 1,
 *   async *examples(passages, { wanted }) {
 *     let made = 0;
 *     for await (const { id, text } of passages.passages()) {
 *       const question = text.split(" ").slice(0, 6).join(" ");
 *       if (text.length < 2 * question.length) continue;
 *       if (++made > wanted) return;
 *       const cut = { passageId: id, extent: { start: 0, end: question.length } };
 *       yield { id, question, answers: [], relevant: [id], removal: { cut } };
 *     }
 *   },
 * });
 *
 * const owl = "The barn owl hunts at night by ear. Its feathers make almost no sound.";
 * const passages = {
 *   size: 1,
 *   async *passages() {
 *     yield { id: "owl", title: "", text: owl };
 *   },
 * };
 * for await (const { question } of openings.examples(passages, { wanted: 10, seed: 0 }))
 *   console.log(question); // The barn owl hunts at night
 * ```
 */
export function defineSource<const Name extends string>(source: Source<Name>): Source<Name> {
  resolveOptions(FIELDS, source as object as Record<keyof typeof FIELDS, never>, "source");
  return source;
}

export const isSource = (given: unknown): given is Source =>
  z.strictObject(FIELDS).safeParse(given).success;

/** Examples to draw for `count` examples to train on. */
export const drawsFor = ({ draws }: Pick<Source, "draws">, count: number): number =>
  Math.ceil(draws * count);
