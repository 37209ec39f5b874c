/** The data of a training run: the examples of each iteration, and the held-out retrieval test. */

import { createHash } from "node:crypto";
import { InputError } from "../../io/errors.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import { createRandom } from "../../math/random.ts";
import type { Passage } from "../../text/passage.ts";
import type { CandidateRetriever } from "./candidates.ts";
import type { TextExamples } from "./step.ts";

/** What became of the examples of a source. */
export interface SourceCounts {
  readonly name: string;
  /** Which passages are relevant, in words. */
  readonly relevant: string;
  /** Examples that the source has. The others are left out. */
  readonly all: number;
  readonly training: number;
  readonly heldOut: number;
}

/** How relevant passages were found, and what was left out. */
export interface ExampleCounts {
  readonly sources: readonly SourceCounts[];
  /** Examples to measure retrieval with, and how many of them can be measured. */
  readonly heldOut: number;
  readonly measured: number;
}

export interface TrainingData {
  /** What kind of run it makes, in a sentence for the report. */
  readonly kind?: string | undefined;
  /** What the report says about the examples. */
  readonly counts?: ExampleCounts | undefined;
  /** Identifies the data. A run is resumed only with data of the same digest. */
  readonly digest: string;
  /** What the data consist of: an error names the part that another run would have. */
  readonly parts?: readonly DataPart[] | undefined;
  /**
   * The examples of an iteration, with their candidates. The candidates are kept on disk, so that a
   * resumed run reads the same ones.
   *
   * @param iteration counted from 0; with a background refresh, the step of the snapshot
   * @param retriever retrieves with the current model; the first iteration has none
   */
  examples(
    iteration: number,
    retriever: CandidateRetriever | undefined,
  ): AsyncGenerator<ProgressEvent, TextExamples>;
  /**
   * If present, retrieval is measured during training: the run keeps the weights that retrieve
   * best, and stops if retrieval collapses.
   */
  readonly monitorSet?: MonitorSet | undefined;
  /**
   * Log weights of the tokens of the vocabulary. The run takes them as its first step if retrieval
   * with them is better.
   */
  readonly tokenWeights?: (() => Promise<Float32Array>) | undefined;
}

/** The examples of a source. */
export interface DataPart {
  /** Of the source. */
  readonly name: string;
  /** The file that the examples are read from. */
  readonly file: string;
  readonly digest: string;
}

/** A small retrieval test for the retrieval monitor. */
export interface MonitorSet {
  readonly questions: readonly MonitorQuestion[];
  /** The passages to search: the relevant ones and others. */
  readonly passages: readonly Passage[];
  /** Steps between two measurements. */
  readonly every: number;
}

export interface MonitorQuestion {
  readonly question: string;
  /** Ids of the relevant passages. */
  readonly relevant: readonly string[];
  /** Accepted answers, if any are known. */
  readonly answers?: readonly string[] | undefined;
  /**
   * Ids of the passages of the corpus that it was made of, or that it is about. Questions that
   * share one depend on one another. Default: `relevant`.
   */
  readonly about?: readonly string[] | undefined;
  /**
   * Ids of passages that it does not see, each with the id of a version that it sees in place of
   * it, or null for none. Nobody else sees a version. Default: it sees all but versions.
   */
  readonly instead?: readonly (readonly [id: string, version: string | null])[] | undefined;
}

export interface Share {
  readonly name: string;
  /** Share of the examples, relative to the other sources. */
  readonly weight: number;
  readonly data: TrainingData;
}

/** A long run draws the same again: a list of all its examples would not fit into memory. */
const MAX_DRAWN = 1_000_000;

/**
 * An iteration has `examples` examples, at most a million that come again: of each source in
 * proportion to its weight, at random. A source without an example leaves its part to the others.
 *
 * @throws {InputError} in an iteration in which no source has an example
 */
export function mixture(
  sources: readonly Share[],
  { examples, seed }: { readonly examples: number; readonly seed: number },
): TrainingData {
  const identity = sources.map(({ name, weight, data }) => [name, weight, data.digest]);
  return {
    digest: createHash("sha256").update(JSON.stringify(identity)).digest("hex"),
    async *examples(iteration, retriever) {
      const found: { name: string; weight: number; all: TextExamples }[] = [];
      for (const { name, weight, data } of sources) {
        const all = yield* data.examples(iteration, retriever);
        if (all.size > 0) found.push({ name, weight, all });
        else yield { type: "stage", name: `${name}: no candidate helps; other sources are used` };
      }
      if (found.length === 0) throw nothingToFind(sources.map(({ name }) => name));
      const counts = apportion(found, Math.min(examples, MAX_DRAWN));
      const slots = found.flatMap(({ name, all }, i) => {
        const random = createRandom(seed, "mixture", iteration, name);
        const order = random.shuffle([...Array(all.size).keys()]);
        return Array.from(
          { length: counts[i]! },
          (_, slot) => [all, order[slot % all.size]!] as const,
        );
      });
      return {
        size: slots.length,
        example(index, step) {
          const [all, example] = slots[index]!;
          return all.example(example, step);
        },
      };
    },
  };
}

const nothingToFind = (names: readonly string[]): InputError =>
  new InputError({
    where: names.join(", "),
    expected: "an example with a candidate that helps",
    got: "none",
    remedy: "choose other sources, more candidates, or adapt with questions or relevance labels",
  });

/** Integers in proportion to the weights, with sum `total`: largest remainders (Hamilton). */
export function apportion(items: readonly { readonly weight: number }[], total: number): number[] {
  const sum = items.reduce((all, { weight }) => all + weight, 0);
  const quotas = items.map(({ weight }) => (total * weight) / sum);
  const counts = quotas.map(Math.floor);
  const rest = total - counts.reduce((all, count) => all + count, 0);
  const byRemainder = quotas
    .map((quota, i) => ({ i, remainder: quota - counts[i]! }))
    .sort((a, b) => b.remainder - a.remainder || a.i - b.i);
  for (const { i } of byRemainder.slice(0, rest)) counts[i]!++;
  return counts;
}
