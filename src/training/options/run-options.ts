/** The options that `train` and `adapt` share. Defaults are those of `train`. */

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
  withoutFlag,
} from "../../options/option.ts";
import type { Provider } from "../../tensor/session.ts";
import type { Measure } from "../measures/measure.ts";
import { OBJECTIVES } from "../objectives/index.ts";
import { PARTS } from "./trained.ts";

/** Headings in help, by who needs the options. */
export const QUESTIONS_OF_YOUR_OWN = "Questions or labels of your own";
export const TRAINING = "Training";

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
  /** Folder of the trained model. The log, the report and the checkpoints are in `out.run`. */
  out: option(path(), {
    help: "folder of the trained model; its report and the run are in DIR.run",
    placeholder: "DIR",
    card: false,
  }),
};

/** A resumed run has recorded its model and its files. */
export const RECORDED = "with --resume as the run began";

/** Options that name files, of `train` and `adapt`. */
export const FILE_OPTIONS: ReadonlySet<string> = new Set([
  "model",
  "corpus",
  "data",
  "queries",
  "qrels",
  "dev",
]);

/** A tenth of the steps is warm-up: a run of fewer has no effect to show. */
export const MIN_STEPS = 50;

/** Seed of all random numbers. */
export const SEED = option(integer(0).default(0), { help: "seed of all random numbers" });

/** What a step minimises. */
export const OBJECTIVE_SETTINGS = {
  /** What a step minimises. Default `distillation`. */
  objective: option(choice(...OBJECTIVES).default("distillation"), {
    help: "what a step minimises",
    group: TRAINING,
  }),
  /**
   * Weight of the retrieval loss, for `distillation`, `supervised` and `likelihood`. Default 8, as
   * in the paper.
   */
  alpha: option(number({ from: 0 }).default(8), { help: "weight of retrieval", flag: false }),
  /**
   * Weight of the copy-attention loss. It draws the attention of the decoder to the answer where a
   * passage contains it. Default 0.
   */
  copyAttention: option(number({ from: 0 }).default(0), {
    help: "weight of the copy-attention loss",
    flag: false,
  }),
  /**
   * Weight of the phrase loss: the model learns phrase queries, and keys that they find, where the
   * answer stands in the positives (DensePhrases, section 4). For the objectives `retrieval`,
   * `likelihood`, `distillation` and `supervised`. Default 0; without it, the trained model has no
   * phrase queries.
   */
  phraseLoss: option(number({ from: 0 }).default(0), {
    help: "weight of the phrase loss",
    flag: false,
  }),
  /**
   * Whether the passages of the other questions of a step are negatives of a question. Default
   * true.
   */
  inBatchNegatives: option(flag().default(true), { help: "in-batch negatives", flag: false }),
  /**
   * Whether passages that have a relevant id or contain an answer are negatives, too, unless they
   * are what the objective raises: D_q of ReAtt (section 3.1). Default false.
   */
  relevantNegatives: option(flag().optional(), {
    help: "negatives can be relevant, as in ReAtt",
    flag: false,
  }),
  /**
   * Temperature of the scores that the questions give for their passages (`ctxs`), for the
   * objective `retrieval`: the target is softmax(score / temperature). Default 1.
   */
  scoreTemperature: option(number({ above: 0 }).default(1), {
    help: "temperature of given scores",
    flag: false,
  }),
};

/** What is trained, and which vectors it makes. */
export const PART_SETTINGS = {
  /**
   * What is trained: everything; what retrieval alone uses; the joint layers; the query and key
   * projections of the retrieval head; all that only reading uses; or what questions are encoded
   * with. With `reader`, `joint` and `query`, an index of the model that training starts from
   * remains valid. Default: `retrieval` with the objectives `retrieval` and `likelihood`, otherwise
   * `all`.
   */
  train: option(choice(...PARTS).optional(), {
    help: "what is trained",
    defaultText: "retrieval with the objectives retrieval and likelihood, else all",
    group: TRAINING,
  }),
  /**
   * With `train` `retrieval` or `joint`: train only the last layers of this part, this many. With
   * `query`: train the last layers of a copy of the encoder that only questions use. Default: all
   * layers of the part; with `query`, the query projection alone.
   */
  layers: option(integer(1).optional(), {
    help: "train the last N layers of retrieval or joint, or of a copy of the encoder for query",
    defaultText: "all; with query, the query projection alone",
    group: TRAINING,
  }),
  /**
   * Temperature of the learned weights of the heads (ReAtt, section 2.2): training finds the head
   * that retrieves. Default: no weights; the head of `config.json` retrieves. If it names none, and
   * the model has weights, `distillation_tau` of `config.json`.
   */
  tau: option(number({ above: 0 }).optional(), {
    help: "temperature of the head weights",
    flag: false,
  }),
  /**
   * Retrieve by one vector for each text instead of one for each token: that of the last token,
   * `</s>`, or the mean of the tokens, from all heads of the retrieval layer. Default: as in
   * `config.json`.
   */
  pooling: option(choice(...POOLINGS).optional(), { help: "one vector for a text", flag: false }),
  /** How two vectors are compared. Default: as in `config.json`, else `dot`. */
  similarity: option(choice(...SIMILARITIES).optional(), {
    help: "inner product or cosine",
    flag: false,
  }),
};

/** The examples of a step. */
export const BATCH_SETTINGS = {
  /** Questions of each step. Default 16. */
  questions: option(integer(1).default(16), { help: "questions of each step", group: TRAINING }),
  /** Candidate passages that the model reads for each question. Default 8. */
  candidatesPerQuestion: option(integer(1).default(8), {
    help: "candidate passages of each question",
    group: TRAINING,
  }),
  /**
   * Steps whose passages are additional negatives of the next steps, with the keys that they had
   * then (DensePhrases, section 4.3). Default 0.
   */
  preBatch: option(integer(0).default(0), { help: "steps of pre-batch negatives", flag: false }),
  /** Longer passages are cut. Default 512 tokens. */
  maxPassageTokens: option(integer(2).default(512), {
    help: "longer passages are cut",
    group: TRAINING,
  }),
  /**
   * With the objective `marginal`: one of the candidates is empty, for questions that need no
   * passage (REALM, section 3.4). Default true.
   */
  nullPassage: option(flag().default(true), {
    help: "with marginal, one of the candidates is empty",
    flag: false,
  }),
  /**
   * Longer answers are cut and then have no end token. The time of a decoder step grows with it.
   * Default 64 tokens.
   */
  maxAnswerTokens: option(integer(1).default(64), { help: "longer answers are cut", flag: false }),
};

/** How long, at which rate, and when candidates are found again. */
export const SCHEDULE_SETTINGS = {
  /**
   * How often the learning rate rises and falls. Candidates are retrieved again between iterations,
   * if `refresh` asks for it. Default 1.
   */
  iterations: option(integer(1).default(1), {
    help: "how often the learning rate rises and falls",
    group: TRAINING,
  }),
  /** Steps of each iteration. Default 500. */
  steps: option(integer(1).default(500), { help: "steps of each iteration", group: TRAINING }),
  /**
   * Steps at the start of the first iteration that use the objective `qa`. Default 0; the paper
   * uses 3,000.
   */
  qaSteps: option(integer(0).default(0), { help: "steps on the objective qa first", flag: false }),
  /** Peak learning rate. Default 5e-5, as in the paper. */
  learningRate: option(number({ from: 0 }).default(5e-5), {
    help: "peak learning rate",
    group: TRAINING,
  }),
  /** Share of the steps of an iteration in which the learning rate rises. Default 0.1. */
  warmUp: option(number({ from: 0, to: 1 }).default(0.1), {
    help: "share of warm-up",
    flag: false,
  }),
  /**
   * When the model retrieves candidates. The first candidates come from BM25 or from the file of
   * questions. `iterations` retrieves between iterations while training waits; `background`
   * retrieves in a second process while training continues; `none` keeps the first candidates.
   * Default `iterations`.
   */
  refresh: option(choice("none", "iterations", "background").default("iterations"), {
    help: "when the model retrieves new candidates: never, between iterations, or beside training",
    group: TRAINING,
  }),
  /** With the refresh `background`: steps after which new candidates are retrieved. Default 200. */
  refreshSteps: option(integer(1).default(200), { help: "steps between refreshes", flag: false }),
};

/** AdamW, and dropout. */
export const OPTIMIZER_SETTINGS = {
  /** Weight decay of matrices (AdamW). Default 0.01. */
  weightDecay: option(number({ from: 0 }).default(0.01), { help: "weight decay", flag: false }),
  /** Gradients with a larger global norm are scaled down to it. Default 1. */
  clipNorm: option(number({ above: 0 }).default(1), { help: "largest gradient norm", flag: false }),
};

/** What computes. */
export const DEVICE_SETTINGS = {
  /**
   * What computes training steps. `tensorflow` needs an installed TensorFlow.js. Default
   * `onnxruntime`.
   */
  engine: option(choice("onnxruntime", "tensorflow").default("onnxruntime"), {
    help: "what computes training steps",
    flag: false,
  }),
  /**
   * Device of onnxruntime. With the engine `tensorflow` it computes evaluations and candidates.
   * Default `cpu`.
   */
  provider: option(choice("cpu", "webgpu", "cuda").default("cpu" satisfies Provider), {
    help: "device of onnxruntime",
    group: TRAINING,
  }),
};

/** How a run goes on, what it draws, and what it measures. */
const OTHER_SETTINGS = {
  /** Continue the run in `out`, or start one if there is none. Default false. */
  resume: option(flag().default(false), {
    help: "continue the run in --out, or start one if there is none",
    card: false,
  }),
  /** Return the plan with samples of the examples; write nothing. Default false. */
  dryRun: option(flag().default(false), {
    help: "show the plan and samples of the examples; write nothing",
    card: false,
  }),
  /**
   * Minutes that everything may take: reading the corpus, training, measurements and the index, if
   * there is one. The number of steps follows from the speed of the machine, and is corrected
   * during the run. Default: no limit.
   */
  minutes: option(number({ above: 0 }).optional(), {
    help: "end after about N minutes",
    placeholder: "N",
    defaultText: "no limit",
  }),
  /** Dropout rate. Default: `dropout_rate` of `config.json`. */
  dropout: option(number({ from: 0, below: 1 }).optional(), { help: "dropout rate", flag: false }),
  /** Steps between two measurements. Default: those of an iteration. */
  monitorSteps: option(integer(1).optional(), {
    help: "steps between two measurements",
    placeholder: "N",
    defaultText: "those of an iteration",
    group: TRAINING,
  }),
  /**
   * Ends the run when the best model so far is this many measurements old. Default: never, unless
   * retrieval falls.
   */
  patience: option(integer(1).optional(), {
    help: "end when the best model is N measurements old",
    placeholder: "N",
    defaultText: "never",
    group: TRAINING,
  }),
  /** The first questions of `dev` that are used. Default 200. */
  devQuestions: option(integer(1).default(200), {
    help: "questions of dev that are used",
    flag: false,
    card: false,
  }),
  /** Seed of all random numbers. Default 0. */
  seed: withoutFlag(SEED),
};

/** Named parts keep the JSDoc of the options in the declarations that users install. */
type RunSettings = typeof OBJECTIVE_SETTINGS &
  typeof PART_SETTINGS &
  typeof BATCH_SETTINGS &
  typeof SCHEDULE_SETTINGS &
  typeof OPTIMIZER_SETTINGS &
  typeof DEVICE_SETTINGS &
  typeof OTHER_SETTINGS;

/** Options of the training loop. Each is named once: a run takes its groups from these tables. */
export const RUN_SETTINGS: RunSettings = {
  ...OTHER_SETTINGS,
  ...OBJECTIVE_SETTINGS,
  ...PART_SETTINGS,
  ...BATCH_SETTINGS,
  ...SCHEDULE_SETTINGS,
  ...OPTIMIZER_SETTINGS,
  ...DEVICE_SETTINGS,
};

/** Questions that measure retrieval or answers while a run goes on. */
export const DEV_FILE = {
  /**
   * Questions that the best checkpoint is chosen by, in the form of `data`. Default: some of
   * `data`, which are then not trained on.
   */
  dev: option(path().optional(), {
    help: "questions that choose the best checkpoint",
    placeholder: "FILE.jsonl",
    defaultText: "some of --data, not trained on",
  }),
};

/** What only a program can give. */
export interface RunCallbacks {
  /** Measures of your own of the answers to `dev` (`defineMeasure`). Default: none. */
  readonly measures?: readonly Measure[] | undefined;
  /** Stops the run: it saves a checkpoint and returns. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of a run with their defaults and texts. */
export type RunTable = typeof RUN_FILES & typeof DEV_FILE & RunSettings;

/** What every run is given, whatever it trains on. */
export interface RunOptions extends Given<RunTable>, RunCallbacks {}

/** What `resolveRun` makes a run of. */
export interface RunRequest extends Resolved<RunTable>, RunCallbacks {}
