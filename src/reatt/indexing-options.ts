/** Options of the methods that write an index. */

import { SYNC_OPTIONS } from "../options/document-options.ts";
import { DIRECTORY, INDEX_OPTIONS, WRITE_OPTIONS } from "../options/library-options.ts";
import { callback, type Given, SIGNAL } from "../options/option.ts";
import type { BuildProgress } from "../retrieval/index/write/build.ts";
import type { SyncProgress } from "../sync/sync.ts";

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
