/** What can be done with an index, be it in a folder (folder/) or in a store (stores/). */

import type { LockOptions } from "../../io/lock.ts";
import type { OPEN_OPTIONS } from "../../options/library-options.ts";
import type { Resolved, SIGNAL } from "../../options/option.ts";
import type { Passage } from "../../text/passage.ts";
import type { Bits } from "../codec/codec.ts";
import type { IndexHeader } from "../index/format/manifest.ts";
import type { IndexInfo } from "../index/maintain/info.ts";
import type { UpdateOptions } from "../index/maintain/update.ts";
import type { Damage } from "../index/maintain/verify.ts";
import type { BuildOptions } from "../index/write/build.ts";
import type { BuildForecast, ForecastOptions } from "../index/write/forecast.ts";
import type { TokenIndex } from "../search/token-index.ts";
import type { FillProgress } from "../search/token-search.ts";
import type { SearchingModel } from "./searching-model.ts";

type Passages = AsyncIterable<Passage> | Iterable<Passage>;

/** How the caller of a place works. */
export interface PlaceOptions extends LockOptions {
  /** The folder that a relative path begins in. Default: that of the process. */
  readonly from?: string | undefined;
  /** Whether a store that has answered is waited for: two minutes instead of half a second. */
  readonly isPatient?: boolean;
}

/** How an index is opened. */
export interface OpenRequest
  extends Resolved<typeof OPEN_OPTIONS>,
    Partial<Resolved<typeof SIGNAL>> {
  readonly onProgress?: ((progress: FillProgress) => void) | undefined;
  /** Undefined: the index is not searched with texts. */
  readonly model?: SearchingModel | undefined;
}

export type BuildRequest = Pick<
  BuildOptions,
  "header" | "encode" | "cutTokens" | "replace" | "shard" | "onProgress"
> & { readonly bits?: Bits | 32 | undefined };

export type AddRequest = Pick<
  UpdateOptions,
  "header" | "encode" | "cutTokens" | "deleted" | "labels" | "onProgress"
>;

/** What an index has. */
export interface IndexReader extends AsyncDisposable {
  find(id: string): Promise<Passage | undefined>;
  /** All passages. */
  passages(): AsyncGenerator<Passage>;
}

/** What an index of files can do besides. It also gives passages labels, and keeps states. */
export interface FolderAbilities {
  /** @throws {InputError} if the disk has too little space for the build */
  forecast(
    passages: Passages,
    options: Omit<ForecastOptions, "directory" | "signal">,
  ): Promise<BuildForecast>;
  /** The time of the last change, in ISO 8601. @throws if there is no index */
  changeTime(): Promise<string>;
}

/**
 * Where an index is. It holds a connection while it is used; an open index has one of its own.
 * `placeOf` makes it.
 */
export interface Place extends AsyncDisposable {
  /** The path of a folder, or the address of a collection of a store. */
  readonly address: string;
  /** The address without a password, for messages. */
  readonly name: string;
  /** Undefined for a store. */
  readonly folder?: FolderAbilities;

  /**
   * What the keys of the index belong to, and another number after each change; undefined if there
   * is no index.
   */
  find(): Promise<{ readonly header: IndexHeader; readonly generation: number } | undefined>;
  /** @throws {InputError} if there is no index */
  header(): Promise<IndexHeader>;
  open(options: OpenRequest): Promise<TokenIndex>;
  info(): Promise<IndexInfo>;
  verify(): Promise<Damage[]>;

  /** @throws {InputError} if there is an index that may not be replaced */
  checkReplaceable(options: Pick<BuildRequest, "replace" | "shard">): Promise<void>;
  /** Builds the index, or goes on where an earlier call stopped. */
  build(passages: Passages, options: BuildRequest): Promise<void>;
  /**
   * Adds passages to an index, deletes others, and labels some in a folder, where all of it is one
   * transaction. Undefined: there are only deletions and labels.
   */
  add(passages: Passages | undefined, options: AddRequest): Promise<void>;
  /** @returns the number of passages that were deleted */
  delete(ids: AsyncIterable<string> | Iterable<string>): Promise<number>;
  /** @throws {InputError} for a passage that the place does not keep as it is */
  checkPassage(passage: Passage, where: string): void;

  read(): Promise<IndexReader>;
  /** A text that is kept with the index: what a synchronisation knows of its folder. */
  record(): Promise<string | undefined>;
  writeRecord(text: string): Promise<void>;
  /**
   * Does work while no other synchronisation changes the index. In a folder, a later one waits or
   * is refused; in a store, the earlier one is refused its next change.
   */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>;
}
