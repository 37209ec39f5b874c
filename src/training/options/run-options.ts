/** The options that `train` and `adapt` share. Defaults are those of `train`. */

import { z } from "zod";
import { EMBEDDED_MODEL } from "../../hub/model-name.ts";
import { POOLINGS, SIMILARITIES } from "../../model/config.ts";
import {
  choice,
  flag,
  type Given,
  integer,
  number,
  option,
  path,
  type Resolved,
} from "../../options/option.ts";
import type { Provider } from "../../tensor/session.ts";
import type { ObjectiveName, QuerySide } from "../loss/options.ts";

const SCHEDULE = "Schedule";
const LOSS = "Loss";
const COMPUTATION = "Computation";
const TAU = "a number above 0, or model";

/** What a run with `querySide` trains, as the plan of an adaptation says it. */
export const QUERY_SIDES: Readonly<Record<QuerySide, string>> = {
  projection: "the query projection",
  layers: "a copy of the lower layers for questions",
};

/** The names that the plan of a run on disk has for `querySide`. */
const TRAINED: Readonly<Record<QuerySide, string>> = {
  projection: "query side",
  layers: "query encoder",
};

/** Files that every run reads and writes. */
export const RUN_FILES = {
  /**
   * The model to start from, as for `ReAtt.load`: a folder, or a name on the Hugging Face hub.
   * Default: the model of this package. A folder with only `config.json` and `spiece.model` starts
   * from random weights.
   */
  model: option(path().default(EMBEDDED_MODEL), {
    help: "the model to start from: a folder, or a name on the Hugging Face hub",
    placeholder: "DIR|ORG/NAME[@REVISION]",
    defaultText: "the model of this package",
    card: false,
  }),
  /** Passages: JSON Lines, plain or gzip. */
  corpus: option(path(), {
    help: 'passages, one a line: {"_id" or "id","title","text"}',
    placeholder: "FILE.jsonl",
    card: false,
  }),
  /** Folder of the trained model, the log, the report and the checkpoints. */
  out: option(path(), {
    help: "folder of the trained model, its log and its report",
    placeholder: "DIR",
    card: false,
  }),
};

/** Options of the training loop, in the order of the plan on disk. */
export const RUN_SETTINGS = {
  /**
   * How often the learning rate rises and falls. Candidates are retrieved again between iterations,
   * if `refresh` asks for it. Default 1.
   */
  iterations: option(integer(1).default(1), {
    help: "how often the learning rate rises and falls",
    group: SCHEDULE,
    plan: true,
  }),
  /** Steps of each iteration. Default 500. */
  steps: option(integer(1).default(500), {
    help: "steps of each iteration",
    group: SCHEDULE,
    plan: true,
  }),
  /**
   * Steps at the start of the first iteration that use the objective `qa`. Default 0; the paper
   * uses 3,000.
   */
  qaSteps: option(integer(0).default(0), {
    help: "steps at the start of the first iteration that use the objective qa",
    group: SCHEDULE,
    plan: true,
  }),
  /** Questions of each step. Default 16. */
  questions: option(integer(1).default(16), {
    help: "questions of each step",
    group: SCHEDULE,
    plan: true,
  }),
  /** Candidate passages that the model reads for each question. Default 8. */
  candidatesPerQuestion: option(integer(1).default(8), {
    help: "candidate passages of each question",
    group: SCHEDULE,
    aliases: [{ flag: "close-passages" }],
    plan: (closePassages) => ({ closePassages }),
  }),
  /**
   * Whether one of the candidates is an empty passage (REALM, section 3.3). Default: true with the
   * objective `marginal`, otherwise false.
   */
  nullPassage: option(flag().optional(), {
    help: "make one of the candidates an empty passage",
    defaultText: "only with the objective marginal",
    group: LOSS,
    plan: (nullPassage) => ({ nullPassage: nullPassage ? "one" : "none" }),
  }),
  /**
   * Weight of the copy-attention loss. It draws the attention of the decoder to the answer where a
   * passage contains it. Default 0.
   */
  copyAttention: option(number({ from: 0 }).default(0), {
    help: "weight of the copy-attention loss: the decoder attends to the answer in the passages",
    group: LOSS,
    aliases: [{ flag: "pointer" }],
    plan: (pointer): Record<string, number> => (pointer ? { pointer } : {}),
  }),
  /**
   * Weight of the phrase loss: the model learns phrase queries, and keys that they find
   * (DensePhrases, section 4). With the objective `retrieval` they learn where the answer stands in
   * the positives, with `distillation` and `supervised` where the decoder looks. Default 0; without
   * it, the trained model has no phrase queries.
   */
  phraseLoss: option(number({ from: 0 }).default(0), {
    help: "weight of the phrase loss: answers by phrases",
    group: LOSS,
    plan: (phraseLoss): Record<string, number> => (phraseLoss ? { phraseLoss } : {}),
  }),
  /** What a step minimises. Default `distillation`. */
  objective: option(
    choice("distillation", "supervised", "marginal", "qa", "retrieval").default(
      "distillation" satisfies ObjectiveName,
    ),
    { help: "what a step minimises", group: LOSS, plan: true },
  ),
  /**
   * Weight of the retrieval loss of `distillation` and `supervised`. Default 8, as in the paper.
   */
  alpha: option(number({ from: 0 }).default(8), {
    help: "weight of the distillation loss",
    group: LOSS,
    plan: true,
  }),
  /**
   * Whether the passages of the other questions of a step are negatives of a question. Default
   * true.
   */
  inBatchNegatives: option(flag().default(true), {
    help: "use the passages of the other questions of a step as negatives",
    group: LOSS,
    aliases: [{ flag: "candidates", values: { batch: true, own: false } }],
    plan: (inBatchNegatives) => ({ candidates: inBatchNegatives ? "batch" : "own" }),
  }),
  /**
   * Steps whose passages are additional negatives of the next steps, with the keys that they had
   * then (DensePhrases, section 4.3). Default 0.
   */
  preBatch: option(integer(0).default(0), {
    help: "use the passages of the last N steps as negatives",
    group: LOSS,
    plan: (preBatch): Record<string, number> => (preBatch > 0 ? { preBatch } : {}),
  }),
  /**
   * Temperature of the scores that the questions give for their passages (`ctxs`), for the
   * objective `retrieval`: the target is softmax(score / temperature). Default 1.
   */
  scoreTemperature: option(number({ above: 0 }).default(1), {
    help: "temperature of the scores that the data gives, for the objective retrieval",
    group: LOSS,
    plan: (temperature, { objective }): Record<string, number> =>
      objective === "retrieval" ? { scoreTemperature: temperature } : {},
  }),
  /**
   * The model's own decoder scores the candidates of each question at the beginning of an
   * iteration, for the objective `retrieval`: by log P(answer | question, passage), or by
   * log P(question | passage). Default: no teacher.
   */
  teacher: option(choice("answer", "question").optional(), {
    help: "let the decoder score the candidates, for the objective retrieval: by the likelihood of",
    defaultText: "no teacher",
    group: LOSS,
    plan: (teacher): Record<string, string> => (teacher ? { teacher } : {}),
  }),
  /**
   * How often a passage counts in the softmax if several questions of a step have it: `once`, or
   * `each` time, for comparisons. Default `once`.
   */
  copies: option(choice("once", "each").default("once"), {
    help: "how often a passage counts in the softmax if several questions of a step have it",
    group: LOSS,
    plan: (copies): Record<string, string> => (copies === "once" ? {} : { copies }),
  }),
  /**
   * Temperature of the learned weights of the heads (section 2.3), or `model` for
   * `distillation_tau` of `config.json`. Default: no weights; one head retrieves.
   */
  tau: option(z.union([number({ above: 0 }), z.literal("model")], TAU).optional(), {
    help: "learn which head retrieves, at this temperature; alone: at that of config.json",
    placeholder: "X",
    alone: "model",
    parse: (given) => (given === "model" ? given : Number(given)),
    defaultText: "one fixed head",
    group: LOSS,
    plan: (tau) => ({ tau: tau ?? "fixed head" }),
  }),
  /**
   * Train only the query projection, or only a copy of the lower layers for questions. An index of
   * the model that training starts from remains valid. Default: train all parameters.
   */
  querySide: option(choice("projection", "layers").optional(), {
    help:
      "train only the query projection, or only a copy of the lower layers for questions; " +
      "an existing index remains valid",
    alone: "projection",
    defaultText: "train all parameters",
    group: LOSS,
    plan: (querySide) => ({ trained: querySide ? TRAINED[querySide] : "all" }),
  }),
  /**
   * Train only the upper encoder layers and the decoder. An index of the model that training starts
   * from remains valid. Needs the objective `qa`. Default: train all parameters.
   */
  readerOnly: option(flag().default(false), {
    help: "train only what reads passages, with the objective qa; an existing index remains valid",
    group: LOSS,
    plan: (readerOnly): Record<string, string> => (readerOnly ? { part: "reader" } : {}),
  }),
  /**
   * Train only the query and key projections of the retrieval head. What is below them does not
   * change, so the states of a text are computed once, and a step takes a small part of the time.
   * Needs the objective `retrieval`. Default: train all parameters.
   */
  headOnly: option(flag().default(false), {
    help: "train only the retrieval head, with the objective retrieval: many steps in little time",
    group: LOSS,
    plan: (headOnly): Record<string, string> => (headOnly ? { part: "retrieval head" } : {}),
  }),
  /**
   * Train only the last layers of the backbone, this many. What is below them does not change, so
   * the states of a text are computed once. Needs the objective `retrieval` and a model whose
   * reader has layers of its own (`joint_hidden_layers`). Default: all layers that the reader does
   * not use.
   */
  trainedLayers: option(integer(1).optional(), {
    help: "train only the last N layers of the backbone, with the objective retrieval",
    defaultText: "all that the reader does not use",
    group: LOSS,
    plan: (trainedLayers): Record<string, number> => (trainedLayers ? { trainedLayers } : {}),
  }),
  /**
   * Retrieve by one vector for each text instead of one for each token: that of the last token,
   * `</s>`, or the mean of the tokens, from all heads of the retrieval layer. Default: as in
   * `config.json`.
   */
  pooling: option(choice(...POOLINGS).optional(), {
    help: "retrieve by one vector for each text: of its last token, or the mean of its tokens",
    defaultText: "as in config.json: without it, a vector for each token",
    group: LOSS,
    plan: (pooling): Record<string, string> => (pooling ? { pooling } : {}),
  }),
  /** How two vectors are compared. Default: as in `config.json`, else `dot`. */
  similarity: option(choice(...SIMILARITIES).optional(), {
    help: "compare vectors by the inner product or by the cosine",
    defaultText: "as in config.json, else dot",
    group: LOSS,
    plan: (similarity): Record<string, string> => (similarity ? { similarity } : {}),
  }),
  /**
   * When the model retrieves candidates. The first candidates come from BM25 or from the file of
   * questions. `iterations` retrieves between iterations while training waits; `background`
   * retrieves in a second process while training continues; `none` keeps the first candidates.
   * Default `iterations`.
   */
  refresh: option(choice("none", "iterations", "background").default("iterations"), {
    help: "when the model retrieves new candidates: never, between iterations, or beside training",
    group: SCHEDULE,
    // Without the entry, the run refreshes between iterations: once this was the only way.
    plan: (refresh): Record<string, string> => (refresh === "iterations" ? {} : { refresh }),
  }),
  /** With the refresh `background`: steps after which new candidates are retrieved. Default 200. */
  refreshSteps: option(integer(1).default(200), {
    help: "with --refresh background: steps between two retrievals of candidates",
    group: SCHEDULE,
    plan: (refreshSteps, { refresh }): Record<string, number> =>
      refresh === "background" ? { refreshSteps } : {},
  }),
  /** Peak learning rate. Default 5e-5, as in the paper. */
  learningRate: option(number({ from: 0 }).default(5e-5), {
    help: "peak learning rate",
    group: SCHEDULE,
    plan: true,
  }),
  /** Dropout rate. Default: `dropout_rate` of `config.json`. */
  dropout: option(number({ from: 0, below: 1 }).optional(), {
    help: "dropout rate",
    defaultText: "as in config.json",
    group: LOSS,
    plan: (dropout) => ({ dropout: dropout ?? "of the model" }),
  }),
  /** Longer passages are cut. Default 512 tokens. */
  maxPassageTokens: option(integer(2).default(512), {
    help: "longer passages are cut",
    group: LOSS,
    plan: true,
  }),
  /**
   * Longer answers are cut and then have no end token. The time of a decoder step grows with it.
   * Default 64 tokens.
   */
  maxAnswerTokens: option(integer(1).default(64), {
    help: "longer answers are cut",
    group: LOSS,
    plan: true,
  }),
  /**
   * What computes training steps. `tensorflow` needs an installed TensorFlow.js. Default
   * `onnxruntime`.
   */
  engine: option(choice("onnxruntime", "tensorflow").default("onnxruntime"), {
    help: "what computes training steps; tensorflow needs an installed TensorFlow.js",
    group: COMPUTATION,
    plan: true,
  }),
  /**
   * Threads that each compute a part of a step on one core, in place of one session that divides
   * each product between all cores (docs/experiments/speed.md). Each thread has its own copy of the
   * model. A step of one chunk, such as those of `retrieval`, has no parts. Only with the engine
   * `onnxruntime` on the CPU. Default 1.
   */
  workers: option(integer(1).default(1), {
    help: "threads that compute parts of a step, each on one core with a copy of the model",
    group: COMPUTATION,
    plan: (workers): Record<string, number> => (workers > 1 ? { workers } : {}),
  }),
  /** Seed of all random numbers. Default 0. */
  seed: option(integer(0).default(0), {
    help: "seed of all random numbers",
    group: COMPUTATION,
    plan: true,
  }),
  /**
   * Device of onnxruntime. With the engine `tensorflow` it computes evaluations and candidates.
   * Default `cpu`.
   */
  provider: option(choice("cpu", "webgpu", "cuda").default("cpu" satisfies Provider), {
    help: "device of onnxruntime",
    group: COMPUTATION,
  }),
  /** Continue the run in `out`, or start one if there is none. Default false. */
  resume: option(flag().default(false), {
    help: "continue the run in --out, or start one if there is none",
    group: COMPUTATION,
    card: false,
  }),
};

/** Questions of `dev` that are used unless the options say otherwise. */
export const DEV_QUESTIONS = 200;

/** Questions that measure retrieval or answers while a run goes on. */
export const DEV_FILES = {
  /** Questions that the best checkpoint is chosen by, in the form of `data`. Default: none. */
  dev: option(path().optional(), {
    help: "questions that choose the best checkpoint",
    placeholder: "FILE.jsonl",
    defaultText: "keep the last",
  }),
  /** The first questions of `dev` that are used. Default 200. */
  devQuestions: option(integer(1).default(DEV_QUESTIONS), {
    help: "use the first N questions of --dev",
    card: false,
  }),
};

export interface RunSignal {
  /** Stops the run: it saves a checkpoint and returns. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of a run with their defaults and texts. */
export type RunTable = typeof RUN_FILES & typeof DEV_FILES & typeof RUN_SETTINGS;

/** What every run is given, whatever it trains on. */
export interface RunOptions extends Given<RunTable>, RunSignal {}

/** Options of a run with all defaults that do not depend on the model. */
export interface ResolvedOptions extends Omit<Resolved<RunTable>, "tau">, RunSignal {
  /** `withModelTau` makes it a number. */
  readonly tau?: number | undefined;
  readonly nullPassage: boolean;
  /** Steps of span corruption before the first iteration; 0 for a model with weights. */
  readonly unsupervisedSteps: number;
}
