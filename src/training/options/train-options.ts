/** The options of `train`. */

import { InputError } from "../../io/errors.ts";
import { flag, type Given, integer, option, path, SIGNAL } from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import { checkEffects, checkRun } from "./run-checks.ts";
import { DEV_FILES, type ResolvedOptions, RUN_FILES, RUN_SETTINGS } from "./run-options.ts";

export type { ResolvedOptions, RunOptions } from "./run-options.ts";

const TRAIN_ONLY = {
  /** Training questions with their answers: see `readTrainingFile`. */
  data: option(path(), {
    help:
      'questions: {"question","answers",["passage_id"],["ctxs"]}; ' +
      "the formats of FiD and DPR, and tables (CSV, TSV), are also read",
    placeholder: "FILE",
  }),
  /**
   * Steps of span corruption on the corpus (Raffel et al. 2020, section 3.1.4) that a model without
   * weights starts with. Default 1,000; 0 for none.
   */
  unsupervisedSteps: option(integer(0).default(1_000), {
    help: "steps of span corruption on the corpus, if the model has no weights",
    group: "Schedule",
    plan: true,
  }),
  /**
   * Select the head whose scores agree best with whether a passage contains an answer (section
   * 2.3), and train that head to retrieve. Default: the head of `config.json`; a model with weights
   * whose `config.json` names none gets a selected head.
   */
  selectHead: option(flag().default(false), {
    help: "show how well each head of the retrieval layer retrieves, and train the best",
    group: "Loss",
    aliases: [{ flag: "probe-heads" }],
  }),
};

/** Named parts keep the JSDoc of the options in the declarations that users install. */
type TrainTable = typeof RUN_FILES & typeof DEV_FILES & typeof TRAIN_ONLY & typeof RUN_SETTINGS;

export const TRAIN_OPTIONS: TrainTable = {
  ...RUN_FILES,
  ...TRAIN_ONLY,
  ...DEV_FILES,
  ...RUN_SETTINGS,
};

/** Options of `train`. All except the files have a default. */
export interface TrainOptions extends Given<TrainTable> {
  /** Stops the run: it saves a checkpoint and returns. */
  readonly signal?: AbortSignal | undefined;
}

export type ResolvedTrainOptions = ResolvedOptions &
  Pick<TrainOptions, "data"> & { readonly selectHead: boolean };

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {InputError} for an unknown option, a value out of range, and options that contradict
 *   each other or have no effect
 */
export function withDefaults(given: TrainOptions): ResolvedTrainOptions {
  const resolved = resolveOptions({ ...TRAIN_OPTIONS, ...SIGNAL }, given);
  checkEffects(resolved, TRAIN_OPTIONS);
  const options = checkRun(resolved);
  const { selectHead, querySide, readerOnly } = options;
  if (selectHead && (querySide || readerOnly))
    throw new InputError({
      where: querySide ? "query side" : "readerOnly",
      expected: "the head that the existing index was made with",
      got: "another head (selectHead)",
      remedy: "leave one of the two out",
    });
  return options;
}
