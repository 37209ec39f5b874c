/** The options of `adapt`. */

import { resolve } from "node:path";
import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import {
  choice,
  flag,
  type Given,
  integer,
  number,
  option,
  path,
  SIGNAL,
  withDefault,
  withDerivedDefault,
} from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import type { SourcePassage, Tagger } from "../salient-spans/index.ts";
import {
  checkRun,
  DEV_FILES,
  type ResolvedOptions,
  RUN_FILES,
  RUN_SETTINGS,
} from "./run-options.ts";

const SOURCES = ["spans", "questions", "labels"] as const;

/** What a model is adapted with: masked sentences, questions with answers, relevance labels. */
export type SourceName = (typeof SOURCES)[number];

const WEIGHTS = `NAME=NUMBER,NAME=NUMBER with the names ${SOURCES.join(", ")}`;

/** Training time grows with it. The passages of the other questions are negatives as well. */
const CANDIDATES = 4;
/** One night on two cores for a corpus of abstracts. The paper used 4,000 steps, on GPUs. */
const MAX_STEPS = 1_000;
/** A tenth of the steps is warm-up: fewer have no effect. */
const MIN_STEPS = 50;

/** What to train on, and how retrieval is measured meanwhile. */
const ADAPT_SOURCES = {
  /** Questions and answers: see `readTrainingFile`. */
  data: option(path().optional(), {
    help: "train on questions and answers, in the formats that reatt train reads",
    placeholder: "FILE.jsonl",
  }),
  /** Queries that `qrels` labels: see `readQuestions`. */
  queries: option(path().optional(), {
    help: "train on the queries that --qrels labels",
    placeholder: "FILE.jsonl",
  }),
  /** Relevance labels: see `readQrels`. */
  qrels: option(path().optional(), {
    help: "relevance labels in the format of TREC or BEIR",
    placeholder: "FILE.tsv",
  }),
  /** Train on masked sentences of the corpus. Default: if `data` and `qrels` are not given. */
  spans: option(flag().optional(), {
    help: "train on masked sentences of the corpus",
    defaultText: "without --data and --qrels",
  }),
  /** Relative frequency of each source. Default 1 each. */
  weights: option(z.partialRecord(z.enum(SOURCES), number({ above: 0 }), WEIGHTS).optional(), {
    help: `relative frequency of each source: ${SOURCES.join(", ")}`,
    placeholder: "spans=1,questions=2",
    defaultText: "1 each",
    parse: parseWeights,
  }),
  /**
   * Questions that retrieval is measured with. Default: some examples of each source, which are
   * then not trained on.
   */
  dev: option(path().optional(), {
    help: "questions that retrieval is measured with",
    placeholder: "FILE.jsonl",
    defaultText: "some examples of each source, not trained on",
  }),
  /** The first questions of `dev` that are used. Default 200. */
  devQuestions: DEV_FILES.devQuestions,
  /**
   * What becomes of the source passage of a masked sentence: `without-sentence` removes the
   * sentence (ReAtt), `excluded` removes the passage (REALM). Default `without-sentence`.
   */
  sourcePassage: option(
    choice("without-sentence", "excluded").default("without-sentence" satisfies SourcePassage),
    { help: "remove the masked sentence from its source passage, or exclude the passage" },
  ),
  /** Return the plan with samples of the examples; write nothing. Default false. */
  dryRun: option(flag().default(false), {
    help: "show the plan and samples of the examples; write nothing",
    card: false,
  }),
};

/** Settings of `adapt` that `train` does not have, or has with other defaults. */
const ADAPT_SETTINGS = {
  /** Steps of each iteration. Default: one pass over the examples, 50 to 1,000. */
  steps: withDerivedDefault(
    RUN_SETTINGS.steps,
    `one pass over the examples, ${MIN_STEPS} to ${MAX_STEPS}`,
  ),
  /** Candidate passages that the model reads for each question. Default 4, or the whole corpus. */
  candidatesPerQuestion: withDerivedDefault(
    RUN_SETTINGS.candidatesPerQuestion,
    `${CANDIDATES}, or the whole corpus`,
  ),
  /** What a step minimises. Default `supervised`: the relevant passage of each example is known. */
  objective: withDefault(RUN_SETTINGS.objective, "supervised"),
  /** Weight of the distillation loss. Default 1. */
  alpha: withDefault(RUN_SETTINGS.alpha, 1),
  /** Steps between two measurements of retrieval. Default: a tenth of all steps, 10 to 200. */
  monitorSteps: option(integer(1).optional(), {
    help: "steps between two measurements of retrieval",
    defaultText: "a tenth of all steps, 10 to 200",
    group: "Schedule",
    aliases: [{ flag: "probe-steps" }],
  }),
};

/** Named parts keep the JSDoc of the options in the declarations that users install. */
type AdaptTable = typeof RUN_FILES &
  typeof ADAPT_SOURCES &
  Omit<typeof RUN_SETTINGS, keyof typeof ADAPT_SETTINGS> &
  typeof ADAPT_SETTINGS;

export const ADAPT_OPTIONS: AdaptTable = {
  ...RUN_FILES,
  ...ADAPT_SOURCES,
  ...RUN_SETTINGS,
  ...ADAPT_SETTINGS,
};

const ACCEPTED = { ...ADAPT_OPTIONS, ...SIGNAL, tagger: z.custom<Tagger>().optional() };

/** Options of `adapt`. All except `model`, `corpus` and `out` have a default. */
export interface AdaptOptions extends Given<AdaptTable> {
  /** Finds the spans to mask. Default: names and dates in English. */
  readonly tagger?: Tagger | undefined;
  /** Stops the run: it saves a checkpoint and returns. */
  readonly signal?: AbortSignal | undefined;
}

export type ResolvedAdaptOptions = ResolvedOptions &
  Omit<AdaptOptions, keyof ResolvedOptions> & {
    readonly sourcePassage: SourcePassage;
    readonly monitorSteps: number;
    readonly dryRun: boolean;
  };

/**
 * The sources that the options name.
 *
 * @throws {InputError} for an unknown option, a value out of range, and if files or weights do not
 *   belong together
 */
export function sourcesOf(given: AdaptOptions): SourceName[] {
  const { data, queries, qrels, spans, weights } = resolveOptions(ACCEPTED, given);
  if ((queries === undefined) !== (qrels === undefined))
    throw new InputError({
      where: "relevance labels",
      expected: "queries and qrels",
      got: `only ${queries ? "queries" : "qrels"}`,
      remedy: "give both files",
    });
  const named: Record<SourceName, boolean> = {
    spans: spans ?? (data === undefined && qrels === undefined),
    questions: data !== undefined,
    labels: qrels !== undefined,
  };
  const names = SOURCES.filter((name) => named[name]);
  if (names.length === 0)
    throw new InputError({
      where: "adaptation",
      expected: "something to train on",
      got: "nothing",
      remedy: "leave spans on, or give data or labels",
    });
  checkWeights(names, weights);
  return names;
}

function checkWeights(names: readonly SourceName[], weights: AdaptOptions["weights"] = {}): void {
  const unused = Object.keys(weights).find((name) => !names.includes(name as SourceName));
  if (unused === undefined) return;
  throw new InputError({
    where: "weights",
    expected: names.join(", "),
    got: `"${unused}"`,
    remedy: "give weights only of sources that are trained on",
  });
}

/**
 * Checks the options and fills in the defaults.
 *
 * @param examples number of examples to train on
 * @param passages number of passages of the corpus
 * @throws {InputError} for an unknown option, a value out of range, options that contradict each
 *   other, and if `out` is the folder of the model
 */
export function withAdaptDefaults(
  given: AdaptOptions,
  examples: number,
  passages: number,
): ResolvedAdaptOptions {
  if (resolve(given.out) === resolve(given.model))
    throw new InputError({
      where: given.out,
      expected: "another folder than the model's",
      got: "the same",
      remedy: "adapt into a new folder",
    });
  const options = resolveOptions(ACCEPTED, given);
  const onePass = Math.ceil(examples / options.questions);
  const steps = options.steps ?? Math.max(MIN_STEPS, Math.min(MAX_STEPS, onePass));
  const tenth = Math.round((steps * options.iterations) / 10);
  return checkRun({
    ...options,
    unsupervisedSteps: 0,
    steps,
    candidatesPerQuestion: options.candidatesPerQuestion ?? Math.min(CANDIDATES, passages),
    monitorSteps: options.monitorSteps ?? Math.max(10, Math.min(200, tenth)),
  });
}

/** `spans=1,questions=2`. `sourcesOf` checks the names and the numbers. */
function parseWeights(given: string): unknown {
  const entries = given.split(",").map((part) => /^([a-z]+)=(\d+(?:\.\d+)?)$/.exec(part.trim()));
  if (entries.some((entry) => entry === null)) return given;
  return Object.fromEntries(entries.map((entry) => [entry![1], Number(entry![2])]));
}
