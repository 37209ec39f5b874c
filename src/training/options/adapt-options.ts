/** What an adaptation is told. */

import { resolve } from "node:path";
import { InputError } from "../../io/errors.ts";
import type { SourcePassage, Tagger } from "../salient-spans/index.ts";
import { type ResolvedOptions, type RunOptions, withDefaults } from "./train-options.ts";

/** What a model is adapted with: masked sentences of the corpus, questions and answers, relevance labels. */
export type SourceName = "spans" | "questions" | "labels";

/**
 * Of those that are not said, `iterations` is 1, `steps` once through the examples (50 to 1,000), `candidatesPerQuestion` 4 or those that
 * the corpus has, `alpha` 1, and `objective` `supervised`: a labelled passage, the passage that a question was asked about, and the one that a
 * masked sentence is from are known to be relevant.
 */
export interface AdaptOptions
  extends Omit<RunOptions, "devQuestions" | "unsupervisedSteps" | "qaSteps"> {
  /** Questions and answers: see `readTrainingFile`. */
  readonly data?: string | undefined;
  /** Queries that `qrels` labels: see `readQuestions`. */
  readonly queries?: string | undefined;
  /** Relevance labels: see `readQrels`. */
  readonly qrels?: string | undefined;
  /** Train on masked sentences. Default: if there is nothing else to train on. */
  readonly spans?: boolean | undefined;
  /** How often each source is drawn from, in relation to the others. Default 1 for each. */
  readonly weights?: Readonly<Partial<Record<SourceName, number>>> | undefined;
  /** Questions that retrieval is watched with. Default: some of each source, which are then not trained on. */
  readonly dev?: string | undefined;
  /** How the passage that a masked sentence is from takes part. Default `without-sentence`, as in ReAtt; REALM excludes it. */
  readonly sourcePassage?: SourcePassage | undefined;
  /** Finds the spans to mask. Default: names and dates in English. */
  readonly tagger?: Tagger | undefined;
  /** Steps between two looks at retrieval. Default: a tenth of all steps, but 10 to 200. */
  readonly monitorSteps?: number | undefined;
  /** Say what would be done, and show samples. */
  readonly dryRun?: boolean | undefined;
}

type Defaulted = "sourcePassage" | "monitorSteps";

export type ResolvedAdaptOptions = ResolvedOptions &
  AdaptOptions & { readonly [Name in Defaulted]-?: NonNullable<AdaptOptions[Name]> };

/** A step takes time in proportion; the passages of the other questions compete as well. */
const CLOSE_PASSAGES = 4;
/** A night on two cores for a corpus of abstracts; the paper's adaptations had four times as many, on GPUs. */
const MAX_STEPS = 1_000;
/** Fewer do not get anywhere: a tenth of them is warm-up. */
const MIN_STEPS = 50;

/** The sources that are asked for. @throws {InputError} where files or weights do not go together. */
export function sourcesOf({
  data,
  queries,
  qrels,
  spans,
  weights = {},
}: AdaptOptions): SourceName[] {
  if ((queries === undefined) !== (qrels === undefined))
    throw problem(
      "relevance labels",
      "queries and qrels",
      `only ${queries ? "queries" : "qrels"}`,
      "give both files",
    );
  const given: Record<SourceName, boolean> = {
    spans: spans ?? (data === undefined && qrels === undefined),
    questions: data !== undefined,
    labels: qrels !== undefined,
  };
  const names = (Object.keys(given) as SourceName[]).filter((name) => given[name]);
  if (names.length === 0)
    throw problem(
      "adaptation",
      "something to train on",
      "nothing",
      "leave spans on, or give data or labels",
    );
  for (const [name, weight] of Object.entries(weights)) {
    if (!names.includes(name as SourceName))
      throw problem("weights", names.join(", "), `"${name}"`, "weigh only what is trained on");
    if (!(weight > 0 && weight < Infinity))
      throw problem(
        `weight of ${name}`,
        "a number above 0",
        `${weight}`,
        "leave the source out instead",
      );
  }
  return names;
}

/** @param examples how many there are to train on, in a corpus of so many passages. @throws {InputError} where the model would be written over itself. */
export function withAdaptDefaults(
  options: AdaptOptions,
  examples: number,
  passages: number,
): ResolvedAdaptOptions {
  if (resolve(options.out) === resolve(options.model))
    throw problem(
      options.out,
      "another folder than the model's",
      "the same",
      "adapt into a new folder",
    );
  const { questions = 16, objective = "supervised", querySide, tau } = options;
  if (querySide && (objective === "qa" || tau !== undefined)) {
    const got = objective === "qa" ? "the objective qa" : "all heads mixed (tau)";
    throw problem(
      "query side",
      "one head that is trained to retrieve",
      got,
      "leave one of the two out",
    );
  }
  const steps =
    options.steps ?? Math.max(MIN_STEPS, Math.min(MAX_STEPS, Math.ceil(examples / questions)));
  const all = steps * (options.iterations ?? 1);
  const candidatesPerQuestion = options.candidatesPerQuestion ?? Math.min(CLOSE_PASSAGES, passages);
  const alpha = options.alpha ?? 1;
  return {
    ...withDefaults({
      ...options,
      unsupervisedSteps: 0,
      steps,
      candidatesPerQuestion,
      alpha,
      objective,
    }),
    sourcePassage: options.sourcePassage ?? "without-sentence",
    monitorSteps: options.monitorSteps ?? Math.max(10, Math.min(200, Math.round(all / 10))),
  };
}

const problem = (where: string, expected: string, got: string, remedy: string): InputError =>
  new InputError({ where, expected, got, remedy });
