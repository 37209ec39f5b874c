/** The options of the methods of `ReAtt`; those of `retrieve`, `phrases` and `read` are below. */

import { READ_OPTIONS, type ReadOptions } from "../decoder/answers.ts";
import { READERS } from "../documents/define-reader.ts";
import type { DownloadProgress } from "../hub/download.ts";
import { DELETE_OPTIONS, SYNC_OPTIONS } from "../options/document-options.ts";
import {
  DIRECTORY,
  INDEX_OPTIONS,
  LOAD_OPTIONS,
  WRITE_OPTIONS,
} from "../options/library-options.ts";
import {
  callback,
  type Given,
  integer,
  number,
  SIGNAL,
  withDefault,
  withDerivedDefault,
} from "../options/option.ts";
import {
  ANSWER_OPTIONS,
  PASSAGES_RETURNED,
  READ_TOP_K,
  UNANSWERED,
} from "../options/search-request.ts";
import type { BuildProgress } from "../retrieval/index/write/build.ts";
import { type RankOptions, RETRIEVE_OPTIONS } from "../retrieval/rank.ts";
import type { PhraseSearchOptions } from "../retrieval/search-phrases.ts";
import type { SyncProgress } from "../sync/sync.ts";

/** Options of `load`. */
export const LOAD = {
  ...LOAD_OPTIONS,
  /** Reports the download of a model of the Hugging Face hub. */
  onProgress: callback<(progress: DownloadProgress) => void>(),
  ...SIGNAL,
};

export interface LoadOptions
  extends Given<typeof LOAD_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof LOAD> {}

/** Options of `add`. */
export const ADD = {
  ...DIRECTORY,
  ...WRITE_OPTIONS,
  /** Receives the numbers of passages and tokens after each run of the encoder. */
  onProgress: callback<(progress: BuildProgress) => void>(),
  ...SIGNAL,
};

/** After `signal` stops a call, the same call continues the work. */
export interface AddOptions
  extends Given<typeof DIRECTORY>,
    Given<typeof WRITE_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof ADD> {}

/** Options of `sync`. */
export const SYNC = {
  ...DIRECTORY,
  ...WRITE_OPTIONS,
  ...DELETE_OPTIONS,
  ...SYNC_OPTIONS,
  ...READERS,
  /** Receives what the call does: files that it compares and reads, passages that it encodes. */
  onProgress: callback<(progress: SyncProgress) => void>(),
  ...SIGNAL,
};

/** After `signal` stops a call, the same call continues the work. */
export interface SyncOptions
  extends Given<typeof DIRECTORY>,
    Given<typeof WRITE_OPTIONS>,
    Given<typeof DELETE_OPTIONS>,
    Given<typeof SYNC_OPTIONS>,
    Given<typeof READERS>,
    Given<typeof SIGNAL>,
    Given<typeof SYNC> {}

const { directory: _, delete: __, include: ___, ignore: ____, ...CHANGING } = SYNC;

/** Options of `OpenIndex.upsert`. */
export const UPSERT = CHANGING;

export interface UpsertOptions
  extends Omit<SyncOptions, "directory" | "delete" | "include" | "ignore"> {}

/** Options of `OpenIndex.remove`. */
export const REMOVE = { ...WRITE_OPTIONS, ...SIGNAL };

export interface RemoveOptions extends Given<typeof WRITE_OPTIONS>, Given<typeof SIGNAL> {}

/** Options of `index` and `forecast`. */
export const INDEX = { ...ADD, ...INDEX_OPTIONS };

export interface IndexOptions
  extends AddOptions,
    Given<typeof INDEX_OPTIONS>,
    Given<typeof INDEX> {}

export interface RetrieveOptions extends RankOptions {}

export interface PhraseOptions extends PhraseSearchOptions {}

/** Options of `rerank`. */
export const RERANK = {
  /** Number of passages. Default: all. */
  topK: RETRIEVE_OPTIONS.topK.unwrap().optional(),
  /** Longer passages are compared in windows of whole sentences. Default 512, as in an index. */
  maxPassageTokens: INDEX_OPTIONS.maxPassageTokens,
  /** Whether the raw scores of passages are given too. Default false. */
  explain: RETRIEVE_OPTIONS.explain,
  ...SIGNAL,
};

export interface RerankOptions extends Given<typeof SIGNAL>, Given<typeof RERANK> {}

/** Options of `answer`. Passages are as long as in the index; longer ones are read in windows. */
export const ANSWER = {
  ...RETRIEVE_OPTIONS,
  /**
   * Number of passages or documents to return, best first. The first `readTopK` are read. Default
   * 5, or as many as are read.
   */
  topK: withDerivedDefault(RETRIEVE_OPTIONS.topK, `${PASSAGES_RETURNED}, or as many as are read`),
  distinct: withDefault(RETRIEVE_OPTIONS.distinct, true),
  ...READ_TOP_K,
  ...ANSWER_OPTIONS,
  ...UNANSWERED,
  onText: READ_OPTIONS.onText,
};

/** All options of `retrieve` and of `read`, but the length of passages, which the index has. */
export interface AnswerOptions
  extends Omit<RetrieveOptions, "topK">,
    Given<typeof READ_TOP_K>,
    Given<typeof ANSWER_OPTIONS>,
    Given<typeof UNANSWERED>,
    Pick<ReadOptions, "onText">,
    Given<typeof ANSWER> {}

/** Options of `context`. */
export const CONTEXT = {
  ...ANSWER,
  /** Length limit of the context, in tokens of this model. Default 2,000. */
  maxTokens: integer(16).default(2_000),
  /** Number of passages that are found. Default 10. */
  topK: RETRIEVE_OPTIONS.topK.unwrap().default(10),
  /** The least probability of a block. Default 0: a language model judges what it reads. */
  minimumConfidence: number({ from: 0, to: 1 }).default(0),
};

export interface ContextOptions
  extends Omit<AnswerOptions, "topK" | "minimumConfidence">,
    Given<typeof CONTEXT> {}
