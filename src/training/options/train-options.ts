/** The options of `train`. */

import { type Given, option, path, type Resolved, SIGNAL } from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import { checkEffects } from "./run-checks.ts";
import { DEV_FILE, RUN_FILES, RUN_SETTINGS, type RunSignal } from "./run-options.ts";

const TRAIN_ONLY = {
  /** Training questions with their answers: see `readTrainingFile`. */
  data: option(path(), {
    help:
      'questions: {"question","answers",["passage_id"],["ctxs"]}; ' +
      "the formats of FiD and DPR, and tables (CSV, TSV), are also read",
    placeholder: "FILE",
  }),
};

/** Named parts keep the JSDoc of the options in the declarations that users install. */
type TrainTable = typeof RUN_FILES & typeof TRAIN_ONLY & typeof DEV_FILE & typeof RUN_SETTINGS;

export const TRAIN_OPTIONS: TrainTable = {
  ...RUN_FILES,
  ...TRAIN_ONLY,
  ...DEV_FILE,
  ...RUN_SETTINGS,
};

/** Options of `train`. All except the files have a default. */
export interface TrainOptions extends Given<TrainTable> {
  /** Stops the run: it saves a checkpoint and returns. */
  readonly signal?: AbortSignal | undefined;
}

export interface TrainRequest extends Resolved<TrainTable>, RunSignal {}

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {InputError} for an unknown option, a value out of range, and options that contradict
 *   each other or have no effect
 */
export function withDefaults(given: TrainOptions): TrainRequest {
  const options = resolveOptions({ ...TRAIN_OPTIONS, ...SIGNAL }, given);
  checkEffects(options, TRAIN_OPTIONS);
  return options;
}
