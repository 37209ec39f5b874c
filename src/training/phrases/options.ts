/** The options of `trainPhrases`. */

import { LOAD_OPTIONS } from "../../options/library-options.ts";
import {
  type Given,
  integer,
  number,
  option,
  path,
  type Resolved,
  SIGNAL,
} from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import { RUN_FILES, SEED } from "../options/run-options.ts";
import { TRAIN_OPTIONS } from "../options/train-options.ts";

const SCHEDULE = "Schedule";

/** The options that have a flag. */
export const PHRASE_TRAINING_OPTIONS = {
  /** Folder or name of the model that made the index. Default: the model of this package. */
  model: RUN_FILES.model,
  /** The folder of the index. Its keys do not change. */
  index: option(path(), {
    help: "folder of the index; its keys do not change",
    placeholder: "DIR",
  }),
  /** Training questions with their answers: see `readTrainingFile`. */
  data: TRAIN_OPTIONS.data,
  /** Folder of the model with phrase queries. */
  out: option(path(), {
    help: "folder of the model with phrase queries",
    placeholder: "DIR",
  }),
  /** Steps on the passages that the questions were asked about. Default 2,000. */
  steps: option(integer(0).default(2_000), {
    help: "steps on the passages that the questions were asked about",
    group: SCHEDULE,
  }),
  /** Steps on the phrases that the search finds in the index. Default 200. */
  searchSteps: option(integer(0).default(200), {
    help: "further steps on the phrases that the search finds in the index",
    group: SCHEDULE,
  }),
  /** Questions of each step. Default 32. */
  questions: option(integer(1).default(32), { help: "questions of each step", group: SCHEDULE }),
  /** The highest learning rate. Default 3e-4. */
  learningRate: option(number({ above: 0 }).default(3e-4), {
    help: "the highest learning rate",
    group: SCHEDULE,
  }),
  /** Phrases that the search finds for each question. Default 100, as in the paper. */
  phrases: option(integer(2).default(100), {
    help: "phrases that a search step finds for each question",
    group: SCHEDULE,
  }),
  /** Seed of all random numbers. Default 0. */
  seed: SEED,
  /** Threads of the cpu provider. Default: one for each physical core. */
  threads: LOAD_OPTIONS.threads,
};

const TABLE = { ...PHRASE_TRAINING_OPTIONS, ...SIGNAL };

/** Options of `trainPhrases`. All except the files have a default. */
export interface PhraseTrainingOptions
  extends Given<typeof PHRASE_TRAINING_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof TABLE> {}

export type ResolvedPhraseTraining = Resolved<typeof TABLE>;

/** @throws {InputError} for an unknown option, a missing one and a value out of range */
export const resolvePhraseTraining = (given: PhraseTrainingOptions): ResolvedPhraseTraining =>
  resolveOptions(TABLE, given);
