/** The options of `train`. */

import { existsSync } from "node:fs";
import { z } from "zod";
import { EMBEDDED_MODEL } from "../../hub/model-name.ts";
import { InputError } from "../../io/errors.ts";
import {
  flag,
  type Given,
  infoOf,
  number,
  option,
  optionally,
  path,
  type Resolved,
  SIGNAL,
  withDerivedDefault,
} from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import { MEASURES } from "../measures/measure.ts";
import { checkEffects } from "./run-checks.ts";
import {
  DEV_FILE,
  RECORDED,
  RUN_FILES,
  RUN_SETTINGS,
  type RunCallbacks,
  type RunRequest,
} from "./run-options.ts";

/** Training questions with their answers: see `readTrainingFile`. */
export const TRAINING_DATA = option(path(), {
  help:
    'questions: {"question","answers",["passage_id"],["ctxs"]}; ' +
    "the formats of FiD and DPR, and tables (CSV, TSV), are also read",
  placeholder: "FILE",
});

const FILES = "a path, or a list of paths and of { file, weight }";

/** A file of questions, with the relative frequency of its questions. */
const weighedFile = z.strictObject({ file: path(), weight: number({ above: 0 }).optional() });

/** What `data` names: a file, and how often its questions are drawn. */
export type WeighedFile = z.output<typeof weighedFile>;

/** `FILE=2` is a file with a weight, unless there is a file of that name. */
function fileOf(given: string): (string | WeighedFile)[] {
  const [, file, weight] = /^(.+)=([\d.]+)$/su.exec(given) ?? [];
  return file === undefined || existsSync(given) ? [given] : [{ file, weight: Number(weight) }];
}

/** The files of `data`. */
export const weighedFiles = (data: TrainRequest["data"]): WeighedFile[] =>
  [data].flat().map((one) => (typeof one === "string" ? { file: one } : one));

const TRAIN_FILES = {
  ...RUN_FILES,
  /** Folder or name of the model to start from. Default: the model of the package. */
  model: optionally(RUN_FILES.model, `the model of this package; ${RECORDED}`),
  /** Passages: JSON Lines, plain or gzip. Default, to resume a run: those of the run. */
  corpus: optionally(RUN_FILES.corpus, RECORDED),
  /**
   * Training questions with their answers: see `readTrainingFile`. Of several files, each gives
   * questions in proportion to its weight, by default the number of its questions. Default, to
   * resume a run: those of the run.
   */
  data: option(
    z.union([path(), z.array(z.union([path(), weighedFile])).min(1, FILES)], FILES).optional(),
    {
      help:
        'questions: {"question","answers",["passage_id"],["ctxs"]}; FiD, DPR, CSV and TSV are ' +
        "also read; several are drawn from by weight or size",
      placeholder: "FILE[=WEIGHT]",
      defaultText: RECORDED,
      repeated: true,
      parse: fileOf,
    },
  ),
};

const HOLD_OUT = {
  /**
   * Without `dev`, hold some questions of `data` out, and keep the model that is best on them: the
   * given one, if no step is better. With false, or if the given model has no weights, all are
   * trained on, nothing is measured, and the last model is kept. Default true.
   */
  holdOut: option(flag().default(true), {
    help: "without --dev, choose by questions of --data that are not trained on",
    flag: false,
    card: false,
  }),
};

/** The paper has 4,000. */
const STEPS = 500;

const TRAIN_SETTINGS = {
  /** Steps of each iteration. Default 500, or as `minutes` allow. */
  steps: withDerivedDefault(RUN_SETTINGS.steps, `${STEPS}, or as --minutes allow`),
};

const RATES = "two or more different numbers from 0 on";

/** The learning rates of a sweep. */
export const SWEPT_RATES: z.ZodArray<z.ZodNumber> = z
  .array(number({ from: 0 }), RATES)
  .min(2, RATES)
  .refine((rates) => new Set(rates).size === rates.length, RATES);

/** Named parts keep the JSDoc of the options in the declarations that users install. */
type TrainTable = typeof TRAIN_FILES &
  typeof DEV_FILE &
  typeof HOLD_OUT &
  Omit<typeof RUN_SETTINGS, keyof typeof TRAIN_SETTINGS> &
  typeof TRAIN_SETTINGS;

export const TRAIN_OPTIONS: TrainTable = {
  ...TRAIN_FILES,
  ...DEV_FILE,
  ...HOLD_OUT,
  ...RUN_SETTINGS,
  ...TRAIN_SETTINGS,
};

const RATE_OR_RATES = "a number from 0 on, or several, each another one, with commas between";
const { learningRate } = TRAIN_OPTIONS;

/** The learning rate of the command, which tries several. */
export const SWEPT_OPTION = {
  learningRate: option(
    z
      .union([learningRate.unwrap(), SWEPT_RATES], RATE_OR_RATES)
      .default(learningRate.def.defaultValue),
    {
      ...infoOf(learningRate),
      help: "peak learning rate; several are tried in turn, and the best model is kept",
      placeholder: "X[,X...]",
      parse(given) {
        const rates = given.split(",").map((rate) => (rate.trim() === "" ? rate : Number(rate)));
        return rates.length === 1 ? rates[0] : rates;
      },
    },
  ),
};

/**
 * Options of `train`. All except the files have a default. `out` and `resume` are enough to
 * continue a run.
 */
export interface TrainOptions extends Given<TrainTable>, RunCallbacks {
  /** The folder of the trained model, with its report; the run is in `OUT.run`. */
  readonly out: string;
}

const ACCEPTED = { ...TRAIN_OPTIONS, ...SIGNAL, ...MEASURES };

export type TrainRequest = RunRequest &
  Omit<Resolved<TrainTable>, keyof RunRequest | "data"> & {
    readonly data: NonNullable<Resolved<TrainTable>["data"]>;
  };

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {InputError} for an unknown option, a value out of range, a file that is missing, and
 *   options that contradict each other or have no effect
 */
export function withDefaults(given: TrainOptions): TrainRequest {
  const options = resolveOptions(ACCEPTED, given);
  const { model = EMBEDDED_MODEL, corpus, data } = options;
  const missing = (name: string): never => {
    throw new InputError({
      where: name,
      expected: "a path as text",
      got: "nothing",
      remedy: options.resume ? "add it: out has no run to resume" : "add it",
    });
  };
  const files = { corpus: corpus ?? missing("corpus"), data: data ?? missing("data") };
  const { steps = STEPS } = options;
  const complete = { ...options, model, steps, ...files };
  checkEffects(complete, TRAIN_OPTIONS);
  return complete;
}

/**
 * @param unmeasured why nothing is measured; undefined if something is
 * @throws {InputError} for an option of measurements without any
 */
export function checkMeasured(
  options: Pick<TrainRequest, "patience" | "monitorSteps">,
  unmeasured: string | undefined,
): void {
  const unused = (["patience", "monitorSteps"] as const).find((name) => options[name]);
  if (!unused || unmeasured === undefined) return;
  throw new InputError({
    where: unused,
    expected: "dev, or questions that are held out, which are measured",
    got: `none: ${unmeasured}`,
    remedy: "give dev, or leave the option out",
  });
}
