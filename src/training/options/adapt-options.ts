/** The options of `adapt`. */

import { resolve } from "node:path";
import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import type { ModelConfig } from "../../model/config.ts";
import { DOCUMENT_OPTIONS } from "../../options/document-options.ts";
import {
  flag,
  type Given,
  integer,
  number,
  option,
  optionally,
  path,
  type Resolved,
  SIGNAL,
  withDefault,
  withDerivedDefault,
  withoutFlag,
} from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import { labelSource } from "../examples/sources/labels.ts";
import { type LabelFreeName, SOURCES } from "../examples/sources/list.ts";
import { maskedSpans } from "../examples/sources/masked-spans.ts";
import { isSource, type Source } from "../examples/sources/source.ts";
import { questionSource } from "../examples/training-questions.ts";
import { MEASURES } from "../measures/measure.ts";
import type { ObjectiveName } from "../objectives/index.ts";
import type { Tagger } from "../salient-spans/index.ts";
import { checkEffects } from "./run-checks.ts";
import {
  MIN_STEPS,
  QUESTIONS_OF_YOUR_OWN,
  RECORDED,
  RUN_FILES,
  RUN_SETTINGS,
  type RunCallbacks,
  type RunRequest,
  TRAINING,
} from "./run-options.ts";
import type { Part } from "./trained.ts";

/** The sources that read a file of the user's. */
const FILE_SOURCES = [questionSource, labelSource] as const;

export type FileSource = (typeof FILE_SOURCES)[number];

/** What `sources` takes: a name, or a source of your own. */
export type SourceChoice = LabelFreeName | FileSource["name"] | "auto" | Source;

const LABEL_FREE_NAMES = SOURCES.map(({ name }) => name).join(", ");
/** What `sources` can name without a source of one's own. */
const NAMES: readonly string[] = [...[...SOURCES, ...FILE_SOURCES].map(({ name }) => name), "auto"];
const SOURCE_NAMES = `names among ${NAMES.join(", ")}, or what defineSource returns`;

/** Training time grows with it. The passages of the other questions are negatives as well. */
const CANDIDATES = 4;
/**
 * With a time limit: more questions per step, each with its relevant passage and one hard negative,
 * and passages of this length. A step of these costs as much as one of 16 questions with 4.
 */
const TIMED = { questions: 32, candidates: 2, passageTokens: 192 };
const QUESTIONS = 16;
const PASSAGE_TOKENS = 512;
/** One night on two cores for a corpus of abstracts. The paper used 4,000 steps, on GPUs. */
const MAX_STEPS = 1_000;
/** Learning rate and width of the paper's model, T5-large. */
const PAPER = { learningRate: 5e-5, modelSize: 1024 };
const MAX_LEARNING_RATE = 4e-4;
/** The rate at which BERTs are usually fine-tuned (docs/experiments/adaptation.md). */
const BERT_LEARNING_RATE = 2e-5;
/** Two matrices alone bear more (docs/experiments/reatt-mini.md). */
const HEAD_LEARNING_RATE = 1e-3;

const ADAPT_FILES = {
  ...RUN_FILES,
  /** Folder or name of the model to start from. Default: the model of the package. */
  model: optionally(RUN_FILES.model, `the model of this package; ${RECORDED}`),
  /** Documents or passages: see `readDocuments`. Default, to resume a run: those of the run. */
  corpus: option(RUN_FILES.corpus.optional(), {
    help: "folder or file of documents, - for standard input, or passages as JSON Lines",
    placeholder: "FOLDER|FILE|-",
    defaultText: RECORDED,
    card: false,
  }),
  /** Folder of the trained model, the log, the report, the checkpoints and the index. */
  out: RUN_FILES.out,
  /**
   * Index the corpus with the adapted model, to `out.run/index`. A part of the model that keeps the
   * old index needs none. Default true.
   */
  index: option(flag().default(true), {
    help: "index the corpus with the adapted model",
    card: false,
  }),
};

/** Questions and labels to train on, and questions to measure retrieval with. */
const ADAPT_QUESTIONS = {
  /** Questions and answers: see `readTrainingFile`. Default: none. */
  data: option(path().optional(), {
    help: "train on questions and answers, in the formats that reatt train reads, also CSV",
    placeholder: "FILE",
    group: QUESTIONS_OF_YOUR_OWN,
  }),
  /** Queries that `qrels` labels: see `readQuestions`. Default: none. */
  queries: option(path().optional(), {
    help: "train on the queries that --qrels labels",
    placeholder: "FILE.jsonl",
    group: QUESTIONS_OF_YOUR_OWN,
  }),
  /** Relevance labels: see `readQrels`. Default: none. */
  qrels: option(path().optional(), {
    help: "relevance labels in the format of TREC or BEIR",
    placeholder: "FILE.tsv",
    group: QUESTIONS_OF_YOUR_OWN,
  }),
  /**
   * Questions that retrieval is measured with. Default: some examples of each source, which are
   * then not trained on.
   */
  dev: option(path().optional(), {
    help: "questions that retrieval is measured with",
    placeholder: "FILE.jsonl",
    defaultText: "some examples of each source, not trained on",
    group: QUESTIONS_OF_YOUR_OWN,
  }),
};

/** Settings of `adapt` that `train` does not have, or has with other defaults. */
const ADAPT_SETTINGS = {
  /** Words that a passage repeats from the end of the passage before. Default 0. */
  overlapWords: withoutFlag(DOCUMENT_OPTIONS.overlapWords),
  /** Whether the first row of a table names its columns. Default: its cells decide. */
  tableHeader: withoutFlag(DOCUMENT_OPTIONS.tableHeader),
  /**
   * When the model retrieves candidates: `none`, between `iterations`, or in the `background`.
   * Default `iterations`.
   */
  refresh: withoutFlag(RUN_SETTINGS.refresh),
  /** Ends the run when its best model is this many measurements old. Default: never. */
  patience: withoutFlag(RUN_SETTINGS.patience),
  /**
   * What to train on: names, or sources of your own (`defineSource`). `data` and `qrels` add
   * `questions` and `labels`; `auto` adds the label-free sources that suit the corpus. Default:
   * `auto` if `data` and `qrels` are not given.
   */
  sources: option(
    z
      .array(
        z.custom<SourceChoice>(
          (given) => typeof given === "string" || isSource(given),
          SOURCE_NAMES,
        ),
        SOURCE_NAMES,
      )
      .min(1, SOURCE_NAMES)
      .optional(),
    {
      help: `what to train on: ${LABEL_FREE_NAMES}, or auto`,
      placeholder: "NAME,NAME",
      defaultText: "--data and --qrels, else auto",
      group: TRAINING,
      parse(given) {
        const names = given.split(",").map((name) => name.trim());
        return names.every((name) => NAMES.includes(name)) ? names : given; // a text is refused
      },
    },
  ),
  /** Steps of each iteration. Default: as `minutes` allow, or one pass over the examples. */
  steps: withDerivedDefault(
    RUN_SETTINGS.steps,
    `as --minutes allow, or one pass over the examples, ${MIN_STEPS} to ${MAX_STEPS}`,
  ),
  /** Questions of each step. Default 16; 32 with `minutes`. */
  questions: withDerivedDefault(
    RUN_SETTINGS.questions,
    `${QUESTIONS}; ${TIMED.questions} with --minutes`,
  ),
  /**
   * Candidate passages that the model reads for each question. Default 4, or 2 with `minutes`, or
   * the whole corpus.
   */
  candidatesPerQuestion: withDerivedDefault(
    RUN_SETTINGS.candidatesPerQuestion,
    `${CANDIDATES}, ${TIMED.candidates} with --minutes, or the whole corpus`,
  ),
  /** Longer passages are cut in training. Default 512 tokens; 192 with `minutes`. */
  maxPassageTokens: withDerivedDefault(
    RUN_SETTINGS.maxPassageTokens,
    `${PASSAGE_TOKENS}; ${TIMED.passageTokens} with --minutes`,
  ),
  /**
   * What a step minimises. Default: `likelihood` with answers in `data`: what reads teaches what
   * retrieves, and stays as it is; `supervised` to train what reads; else `retrieval`.
   */
  objective: withDerivedDefault(
    RUN_SETTINGS.objective,
    "likelihood with answers in --data; supervised to train what reads; else retrieval",
  ),
  /**
   * Peak learning rate. Default: 2e-5 for a model of BERT layers; 5e-5 x 1024 / width of other
   * models, at most 4e-4; 1e-3 with `train: "head"`.
   */
  learningRate: withDerivedDefault(
    RUN_SETTINGS.learningRate,
    `${BERT_LEARNING_RATE} with BERT layers, else ${PAPER.learningRate} x ${PAPER.modelSize} / width of the model; ` +
      `${HEAD_LEARNING_RATE} with --train head`,
  ),
  /**
   * Measure and save the mean of the weights before and after, while training goes on from those
   * after. What is learned of made-up queries is in part wrong for real ones; half of the way keeps
   * most of the gain, and loses less (Wortsman et al. 2022). Default: with the objective
   * `retrieval` and sources that make examples of documents, if the given model has learned to
   * retrieve with the same kind of vectors.
   */
  average: option(flag().optional(), {
    help: "save the mean of the weights before and after",
    flag: false,
  }),
  /** Weight of the retrieval loss. Default 1. */
  alpha: withDefault(RUN_SETTINGS.alpha, 1),
  /** Relative frequency of each source. Default 1 each. */
  weights: option(
    z.record(z.string(), number({ above: 0 }), "a number for each name of a source").optional(),
    { help: "relative frequency of each source", flag: false },
  ),
  /** Steps between two measurements of retrieval. Default: a tenth of all steps, 10 to 200. */
  monitorSteps: option(integer(1).optional(), {
    help: "steps between two measurements of retrieval",
    flag: false,
  }),
  /** Keep the folder `checkpoint` of a finished run. Default false. */
  keepCheckpoint: option(flag().default(false), {
    help: "keep the folder checkpoint when the run is finished",
    flag: false,
    card: false,
  }),
};

/** Named parts keep the JSDoc of the options in the declarations that users install. */
type AdaptTable = typeof ADAPT_FILES &
  typeof ADAPT_QUESTIONS &
  Omit<typeof DOCUMENT_OPTIONS, keyof typeof ADAPT_SETTINGS> &
  Omit<typeof RUN_SETTINGS, keyof typeof ADAPT_SETTINGS> &
  typeof ADAPT_SETTINGS;

export const ADAPT_OPTIONS: AdaptTable = {
  ...ADAPT_FILES,
  ...ADAPT_QUESTIONS,
  ...DOCUMENT_OPTIONS,
  ...RUN_SETTINGS,
  ...ADAPT_SETTINGS,
};

const tagger = z.custom<Tagger>((given) => typeof given === "function", "a function").optional();
const ACCEPTED = { ...ADAPT_OPTIONS, ...SIGNAL, ...MEASURES, tagger };

/**
 * Options of `adapt`. All except `model`, `corpus` and `out` have a default. `out` and `resume`
 * are enough to continue a run.
 */
export interface AdaptOptions extends Given<AdaptTable>, RunCallbacks {
  /** Finds the spans to mask. Default: names and dates in English. */
  readonly tagger?: Tagger | undefined;
}

/** The options of an adaptation with all defaults. */
export type AdaptRequest = RunRequest &
  Omit<Resolved<AdaptTable>, keyof RunRequest | "sources"> & {
    readonly monitorSteps: number;
    readonly tagger?: Tagger | undefined;
    /** Names, as the record and the card have them. */
    readonly sources?: readonly string[] | undefined;
  };

/** The sources that the options name. */
export interface RequestedSources {
  readonly named: readonly Source[];
  readonly files: readonly FileSource[];
  /** Sources that are tried on the corpus. Undefined: no others than those named. */
  readonly automatic: readonly Source[] | undefined;
}

/**
 * The sources that the options name.
 *
 * @throws {InputError} for an unknown option, a value out of range, an option without effect, and
 *   if files or weights do not belong together
 */
export function requestedSources(given: AdaptOptions): RequestedSources {
  const options = resolveOptions(ACCEPTED, given);
  const { data, queries, qrels, sources = [], tagger } = options;
  if ((queries === undefined) !== (qrels === undefined))
    throw new InputError({
      where: "relevance labels",
      expected: "queries and qrels",
      got: `only ${queries ? "queries" : "qrels"}`,
      remedy: "give both files",
    });
  const ofPackage = SOURCES.map(
    (one): Source => (one.name === "spans" && tagger ? maskedSpans(tagger) : one),
  );
  const own = sources.filter((one) => typeof one !== "string");
  checkNames(sources, own);
  const named = [...ofPackage.filter(({ name }) => sources.includes(name as SourceChoice)), ...own];
  const isGiven = { questions: data !== undefined, labels: qrels !== undefined };
  const withoutFile = FILE_SOURCES.find(({ name }) => sources.includes(name) && !isGiven[name]);
  if (withoutFile) throw missingFile(withoutFile);
  const files = FILE_SOURCES.filter(({ name }) => isGiven[name]);
  const all = [...named, ...files];
  const isAutomatic = sources.includes("auto") || all.length === 0;
  if (!isAutomatic)
    checkSources(
      all.map(({ name }) => name),
      options,
    );
  return { named, files, automatic: isAutomatic ? ofPackage : undefined };
}

/** @throws {InputError} for an unknown name, and for two sources of one name */
function checkNames(sources: readonly SourceChoice[], own: readonly Source[]): void {
  const names = new Set(NAMES);
  const unknown = sources.find((one) => typeof one === "string" && !names.has(one));
  if (unknown !== undefined)
    throw new InputError({
      where: "sources",
      expected: SOURCE_NAMES,
      got: `"${unknown}"`,
      remedy: "correct the name; give a source of your own itself, also to resume a run",
    });
  for (const { name } of own) {
    if (names.has(name))
      throw new InputError({
        where: "sources",
        expected: "sources with different names",
        got: `"${name}" twice`,
        remedy: "give the source of your own another name",
      });
    names.add(name);
  }
}

/** The options of a run that is begun, or of one whose record has been read. */
export type StartOptions = AdaptOptions & { readonly model: string; readonly corpus: string };

/** @throws {InputError} without a model or a corpus */
export function checkFiles(given: AdaptOptions): asserts given is StartOptions {
  for (const name of ["model", "corpus"] as const)
    if (given[name] === undefined)
      throw new InputError({
        where: name,
        expected: "a path as text",
        got: "nothing",
        remedy: given.resume ? "add it: out has no run to resume" : "add it",
      });
}

/** The passage limit of training. */
export const trainingPassageTokens = ({
  maxPassageTokens,
  minutes,
}: Pick<AdaptOptions, "maxPassageTokens" | "minutes">): number =>
  maxPassageTokens ?? (minutes === undefined ? PASSAGE_TOKENS : TIMED.passageTokens);

const missingFile = ({ name }: FileSource): InputError =>
  new InputError({
    where: "sources",
    expected: name === "questions" ? "data" : "queries and qrels",
    got: `"${name}" without it`,
    remedy: `give what ${name} needs, or leave it out of the sources`,
  });

/** Options that belong to sources. */
export type SourceSettings = Pick<AdaptOptions, "weights" | "tagger">;

/** @throws {InputError} if an option belongs to a source that is not trained on */
export function checkSources(
  names: readonly string[],
  { weights = {}, tagger }: SourceSettings,
): void {
  if (tagger !== undefined && !names.includes("spans"))
    throw new InputError({
      where: "tagger",
      expected: "the source spans",
      got: names.join(", "),
      remedy: "add spans to the sources, or leave the option out",
    });
  const unused = Object.keys(weights).find((name) => !names.includes(name));
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
 * @param examples how many there are to train on, and whether questions of a file have answers
 * @param passages number of passages of the corpus
 * @param config configuration of the model
 * @throws {InputError} for an unknown option, a value out of range, options that contradict each
 *   other, and if `out` is the folder of the model
 */
export function withAdaptDefaults(
  given: StartOptions,
  examples: { readonly count: number; readonly haveAnswers: boolean },
  passages: number,
  { modelSize, shared }: Pick<ModelConfig, "modelSize" | "shared">,
): AdaptRequest {
  const options = { ...resolveOptions(ACCEPTED, given), model: given.model, corpus: given.corpus };
  if (resolve(options.out) === resolve(options.model))
    throw new InputError({
      where: options.out,
      expected: "another folder than the model's",
      got: "the same",
      remedy: "adapt into a new folder",
    });
  const { minutes, iterations } = options;
  const isHead = options.train === "head";
  const isTimed = minutes !== undefined;
  const questions = options.questions ?? (isTimed ? TIMED.questions : QUESTIONS);
  const onePass = Math.ceil(examples.count / questions);
  const steps = options.steps ?? Math.max(MIN_STEPS, Math.min(MAX_STEPS, onePass));
  const tenth = Math.round((steps * iterations) / 10);
  const candidates = isTimed ? TIMED.candidates : CANDIDATES;
  const byWidth = Math.min(MAX_LEARNING_RATE, (PAPER.learningRate * PAPER.modelSize) / modelSize);
  const byModel = shared[0]?.kind === "bert" ? BERT_LEARNING_RATE : byWidth;
  const complete = {
    ...options,
    sources: options.sources?.map((one) => (typeof one === "string" ? one : one.name)),
    steps,
    questions,
    objective: options.objective ?? defaultObjective(options.train, examples.haveAnswers),
    maxPassageTokens: trainingPassageTokens(options),
    learningRate: options.learningRate ?? (isHead ? HEAD_LEARNING_RATE : byModel),
    candidatesPerQuestion: options.candidatesPerQuestion ?? Math.min(candidates, passages),
    monitorSteps: options.monitorSteps ?? Math.max(10, Math.min(200, tenth)),
  };
  checkEffects(complete, ADAPT_OPTIONS);
  return complete;
}

function defaultObjective(part: Part | undefined, haveAnswers: boolean): ObjectiveName {
  if (part === "reader" || part === "joint") return "supervised";
  if (!haveAnswers || part === "head") return "retrieval";
  return part === "all" ? "supervised" : "likelihood";
}
