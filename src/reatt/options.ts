/** The options of the methods of `ReAtt`. Those of `retrieve`, `phrases` and `read` are below it. */

import { READ_OPTIONS } from "../decoder/answers.ts";
import type { DownloadProgress } from "../hub/download.ts";
import { SYNC_OPTIONS } from "../options/document-options.ts";
import {
  ANSWER_OPTIONS,
  DIRECTORY,
  INDEX_OPTIONS,
  LOAD_OPTIONS,
  WRITE_OPTIONS,
} from "../options/library-options.ts";
import { callback, type Given, SIGNAL } from "../options/option.ts";
import type { BuildProgress } from "../retrieval/index/write/build.ts";
import { type RankOptions, RETRIEVE_OPTIONS } from "../retrieval/rank.ts";
import type { PhraseSearchOptions } from "../retrieval/search-phrases.ts";
import type { SyncProgress } from "../sync/sync.ts";

/** Options of `load`. */
export const LOAD = {
  ...LOAD_OPTIONS,
  /** Reports the download of a model of the Hugging Face hub. */
  onProgress: callback<(progress: DownloadProgress) => void>(),
  /** Stops a download. The same call continues it later. */
  ...SIGNAL,
};

export interface LoadOptions extends Given<typeof LOAD> {}

/** Options of `add`. */
export const ADD = {
  ...DIRECTORY,
  ...WRITE_OPTIONS,
  onProgress: callback<(progress: BuildProgress) => void>(),
  /** Stops the work. The same call continues it later. */
  ...SIGNAL,
};

export interface AddOptions extends Given<typeof ADD> {}

/** Options of `sync`. */
export const SYNC = {
  ...DIRECTORY,
  ...WRITE_OPTIONS,
  ...SYNC_OPTIONS,
  onProgress: callback<(progress: SyncProgress) => void>(),
  /** Stops the work. The same call continues it later. */
  ...SIGNAL,
};

export interface SyncOptions extends Given<typeof SYNC> {}

/** Options of `index` and `forecast`. */
export const INDEX = { ...ADD, ...INDEX_OPTIONS };

export interface IndexOptions extends Given<typeof INDEX> {}

export interface RetrieveOptions extends RankOptions {}

export interface PhraseOptions extends PhraseSearchOptions {}

/** Options of `rerank`. */
export const RERANK = {
  /** Number of passages. Default: all. */
  topK: RETRIEVE_OPTIONS.topK.unwrap().optional(),
  /** Longer passages are truncated. Default 512, as in an index. */
  maxPassageTokens: INDEX_OPTIONS.maxPassageTokens,
  ...SIGNAL,
};

export interface RerankOptions extends Given<typeof RERANK> {}

/** Options of `answer`. It truncates passages as the index does. */
export const ANSWER = {
  ...RETRIEVE_OPTIONS,
  /** Number of passages to read. Default: that of the model (`answer_passages`), else 10. */
  topK: RETRIEVE_OPTIONS.topK.unwrap().optional(),
  ...ANSWER_OPTIONS,
  onText: READ_OPTIONS.onText,
};

/** All options of `retrieve` and of `read`. `answer` truncates passages as the index does. */
export interface AnswerOptions extends Given<typeof ANSWER> {}
