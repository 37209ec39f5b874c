/** The options of `trainPruning`. */

import { LOAD_OPTIONS } from "../../options/library-options.ts";
import { type Given, integer, option, path, type Resolved, SIGNAL } from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import { RUN_FILES, SEED } from "../options/run-options.ts";
import { TRAIN_OPTIONS } from "../options/train-options.ts";

/** The options that have a flag. */
export const PRUNING_TRAINING_OPTIONS = {
  /** Folder or name of the model. Default: the model of this package. */
  model: RUN_FILES.model,
  /** Passages: JSON Lines, plain or gzip. */
  corpus: RUN_FILES.corpus,
  /** Training questions with their answers: see `readTrainingFile`. */
  data: TRAIN_OPTIONS.data,
  /** Folder for a copy of the model with the layer; the folder of the model changes in place. */
  out: option(path(), {
    help: "folder for a copy of the model with the layer, or the model's own to change it in place",
    placeholder: "DIR",
  }),
  /** Passages to learn from, drawn among those that questions were asked about. Default 2,000. */
  passages: option(integer(1).default(2_000), {
    help: "passages to learn from, drawn among those that questions were asked about",
  }),
  /** Seed of all random numbers. Default 0. */
  seed: SEED,
  /** Threads of the cpu provider. Default: one for each physical core. */
  threads: LOAD_OPTIONS.threads,
};

const TABLE = { ...PRUNING_TRAINING_OPTIONS, ...SIGNAL };

/** Options of `trainPruning`. All except the files have a default. */
export interface PruningTrainingOptions
  extends Given<typeof PRUNING_TRAINING_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof TABLE> {}

export type ResolvedPruningTraining = Resolved<typeof TABLE>;

/** @throws {InputError} for an unknown option, a missing one and a value out of range */
export const resolvePruningTraining = (given: PruningTrainingOptions): ResolvedPruningTraining =>
  resolveOptions(TABLE, given);
