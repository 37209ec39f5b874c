/** What a training run is told. */

import { InputError } from "../../io/errors.ts";
import type { Provider } from "../../tensor/session.ts";
import type { ObjectiveName } from "../loss/options.ts";
import type { QuerySide } from "../loss/trained-parameters.ts";

export type EngineName = "onnxruntime" | "tensorflow";

/** When the model finds close passages: never, between iterations, or in a second process while training goes on. */
export type Refresh = "none" | "iterations" | "background";

export interface TrainOptions {
  /** A model's folder. Without weights, with `config.json` and `spiece.model` alone, training begins from random ones. */
  readonly model: string;
  /** JSON Lines of passages, plain or gzip. */
  readonly corpus: string;
  /** Training questions: see `readTrainingFile`. */
  readonly data: string;
  /** Where the trained model, the log, the report and the checkpoints are written. */
  readonly out: string;
  /** Questions to choose the best checkpoint by, in the form of `data`. Default: none, and the last one is kept. */
  readonly dev?: string | undefined;
  /** Only the first so many questions of `dev` are used. Default 200. */
  readonly devQuestions?: number | undefined;
  /** The learning rate rises and falls once in each, and close passages are found anew as `refresh` says. Default 1. */
  readonly iterations?: number | undefined;
  /**
   * At first close passages are BM25's or the file's own. With `iterations` the model finds those of each later iteration,
   * and training waits; with `background` it does not (see `openBackgroundRefresh`); with `none` they stay as they are.
   * Default `iterations`.
   */
  readonly refresh?: Refresh | undefined;
  /** In the background: how many steps old close passages are when their successors are begun. Default 200. */
  readonly refreshSteps?: number | undefined;
  /**
   * Steps of span corruption on the corpus (Raffel et al. 2020, section 3.1.4) that a model without weights begins with.
   * Default 1,000; 0 for none.
   */
  readonly unsupervisedSteps?: number | undefined;
  /** Steps of an iteration. Default 500. */
  readonly steps?: number | undefined;
  /** Steps of the first iteration that begin with the objective `qa`, whatever comes then. Default 0; the paper has 3,000. */
  readonly qaSteps?: number | undefined;
  /** Questions of a step. Default 16. */
  readonly questions?: number | undefined;
  /** Close passages of a question. Default 8. */
  readonly candidatesPerQuestion?: number | undefined;
  /** Whether one of the close passages is empty (REALM): `withNullPassages`. Default: with the objective `marginal`. */
  readonly nullPassage?: boolean | undefined;
  /** Default `distillation`. */
  readonly objective?: ObjectiveName | undefined;
  /** Weight of the distillation loss. Default 8, as in the paper. */
  readonly alpha?: number | undefined;
  /** Weight of the copyAttention loss, which draws the decoder's attention to the answer where it stands in a passage. Default 0. */
  readonly copyAttention?: number | undefined;
  /** Whether the passages of other questions compete as well (`batch`) or a question's own alone. Default `batch`. */
  readonly inBatchNegatives?: boolean | undefined;
  /** Learn which head retrieves, at this temperature; default: the head of the configuration is the one. */
  readonly tau?: number | undefined;
  /**
   * Have the head retrieve whose scores agree best with whether a passage contains an answer, before training (section 2.3),
   * instead of that of the configuration. Default false.
   */
  readonly selectHead?: boolean | undefined;
  /** Peak learning rate. Default 5e-5, as in the paper. */
  readonly learningRate?: number | undefined;
  /** Train this and nothing else: an index that was made before serves on. Default: everything is trained. */
  readonly querySide?: QuerySide | undefined;
  /** Default: the configuration's `dropout_rate`. */
  readonly dropout?: number | undefined;
  /** Longer passages are cut. Default 512. */
  readonly maxPassageTokens?: number | undefined;
  /** Longer answers are cut, and have then no end: what a step of the decoder takes grows with them. Default 64. */
  readonly maxAnswerTokens?: number | undefined;
  /** What computes the steps. Default `onnxruntime`; `tensorflow` is TensorFlow.js, which has to be installed. */
  readonly engine?: EngineName | undefined;
  /** What onnxruntime computes on; with the engine `tensorflow` too, evaluations and close passages are computed by it. */
  readonly provider?: Provider | undefined;
  /** Default 0. */
  readonly seed?: number | undefined;
  /** Go on where the run in `out` stopped; without one there, begin. */
  readonly resume?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** With defaults, except for those that depend on the model. @throws {InputError} for a number that can't be. */
export function withDefaults<Given extends RunOptions>(options: Given): Given & ResolvedOptions {
  checkNumbers(options);
  const resolved = {
    devQuestions: 200,
    unsupervisedSteps: 1_000,
    iterations: 1,
    refresh: "iterations" as Refresh,
    refreshSteps: 200,
    steps: 500,
    qaSteps: 0,
    questions: 16,
    candidatesPerQuestion: 8,
    nullPassage: options.objective === "marginal",
    objective: "distillation" as ObjectiveName,
    alpha: 8,
    inBatchNegatives: true,
    learningRate: 5e-5,
    engine: "onnxruntime" as EngineName,
    maxPassageTokens: 512,
    maxAnswerTokens: 64,
    seed: 0,
    resume: false,
    ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
  } as Given & ResolvedOptions;
  if (resolved.nullPassage && resolved.candidatesPerQuestion < 2)
    throw new InputError({
      where: "candidatesPerQuestion",
      expected: "2 or more, one of them the null passage",
      got: `${resolved.candidatesPerQuestion}`,
      remedy: "give another value",
    });
  if (resolved.copyAttention && resolved.objective === "marginal")
    throw new InputError({
      where: "pointer",
      expected: "0 with the objective marginal, which reads passages one by one",
      got: `${resolved.copyAttention}`,
      remedy: "leave it out or take another objective",
    });
  return resolved;
}

function checkNumbers(options: RunOptions): void {
  const count: Range = [
    (value) => Number.isInteger(value) && value >= 1,
    "a whole number from 1 on",
  ];
  const countOrNone: Range = [
    (value) => Number.isInteger(value) && value >= 0,
    "a whole number from 0 on",
  ];
  const ranges: Partial<Record<keyof RunOptions, Range>> = {
    ...{
      devQuestions: count,
      iterations: count,
      steps: count,
      questions: count,
      candidatesPerQuestion: count,
    },
    ...{ refreshSteps: count, unsupervisedSteps: countOrNone, qaSteps: countOrNone },
    alpha: [(value) => value >= 0, "a number from 0 on"],
    copyAttention: [(value) => value >= 0, "a number from 0 on"],
    tau: [(value) => value > 0, "a number above 0"],
    learningRate: [(value) => value >= 0, "a number from 0 on"],
    dropout: [(value) => value >= 0 && value < 1, "a share from 0 to below 1"],
  };
  for (const [name, [holds, expected]] of Object.entries(ranges)) {
    const value = options[name as keyof RunOptions];
    if (value === undefined || holds(value as number)) continue;
    throw new InputError({ where: name, expected, got: `${value}`, remedy: "give another value" });
  }
}

type Range = readonly [holds: (value: number) => boolean, expected: string];

type Defaulted =
  | "devQuestions"
  | "unsupervisedSteps"
  | "iterations"
  | "refresh"
  | "refreshSteps"
  | "steps"
  | "qaSteps"
  | "questions"
  | "candidatesPerQuestion"
  | "nullPassage"
  | "objective"
  | "alpha"
  | "inBatchNegatives"
  | "learningRate"
  | "engine"
  | "maxPassageTokens"
  | "maxAnswerTokens"
  | "seed"
  | "resume";

/** What every run is told, whatever it trains on. */
export type RunOptions = Omit<TrainOptions, "data" | "probeHeads">;

export type ResolvedOptions = RunOptions & {
  readonly [Name in Defaulted]-?: NonNullable<TrainOptions[Name]>;
};
