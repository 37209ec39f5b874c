/** The public interface of an open token index. */

import type { StoredStates } from "../../encoder/state-cache.ts";
import { filterOption } from "../../options/arguments.ts";
import { type Given, integer } from "../../options/option.ts";
import type { Passage } from "../../text/passage.ts";
import type { IndexHeader } from "../index/format/manifest.ts";
import type { Where } from "../where/where.ts";

export interface SearchHit {
  readonly id: string;
  /** Position of the passage in the index, from 0. */
  readonly ordinal: number;
  /**
   * The retrieval score: the mean over question tokens of the best product with a passage token.
   */
  readonly score: number;
}

/** Options of a search with query vectors. */
export const SEARCH_OPTIONS = {
  /**
   * The number of passages. A search returns fewer only if the index, or the filter, leaves fewer.
   */
  topK: integer(1),
  /** The ids, or the ordinals, that the search may return. */
  filter: filterOption,
};

export interface SearchOptions extends Given<typeof SEARCH_OPTIONS> {
  readonly signal?: AbortSignal | undefined;
}

/** The token of a passage that matches a token of the question best. */
export interface TokenMatch {
  /** Position among the token keys of the passage, from 0. */
  readonly key: number;
  /** The product of both vectors. */
  readonly score: number;
}

/**
 * One generation of an index. Changes of the index do not show.
 *
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { type IndexGeneration, ReAtt } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const directory = await mkdtemp(join(tmpdir(), "reatt-"));
 * const passages = [{ id: "1", text: "Normandy is a region in France.", metadata: { year: 911 } }];
 * await using index = await model.index(passages, { directory });
 * const count = async (generation: IndexGeneration) => {
 *   const matches = await generation.matching({ year: { lt: 1000 } });
 *   return [matches(0), generation.passageCount];
 * };
 * console.log(await index.snapshot(count)); // [ true, 1 ]
 * ```
 */
export interface IndexGeneration {
  readonly directory: string;
  readonly header: IndexHeader;
  /** 1 for the first generation of the index; each change adds 1. */
  readonly generation: number;
  readonly passageCount: number;
  readonly tokenCount: number;
  /**
   * The best passages for a question, [tokens, dimension], best first; equal scores in the order of
   * the index.
   *
   * @throws {InputError} if `topK` is not a whole number from 1, or the index is closed
   */
  search(question: Float32Array, options: SearchOptions): Promise<SearchHit[]>;
  /** The same for many questions, in one pass over the keys. */
  searchBatch(questions: readonly Float32Array[], options: SearchOptions): Promise<SearchHit[][]>;
  /** The retrieval scores of the passages at these ordinals. */
  score(question: Float32Array, ordinals: readonly number[]): Promise<number[]>;
  /**
   * The best token key of the passage for each token of the question. The mean of the scores is the
   * retrieval score of the passage. Of equal keys, the first.
   */
  matches(question: Float32Array, ordinal: number): Promise<TokenMatch[]>;
  /**
   * The products of the vectors of a question with all token keys of the passage, in float64:
   * [question tokens, keys].
   */
  products(question: Float32Array, ordinal: number): Promise<Float64Array>;
  /**
   * The token keys of the passage as the index stores them, decompressed: [keys, dimension].
   * `positions` selects keys.
   */
  keys(ordinal: number, positions?: readonly number[]): Promise<Float32Array>;
  passages(ordinals: readonly number[]): Promise<Passage[]>;
  /**
   * The states of passages that the index holds, so that reading need not compute them; undefined
   * if it was built without `keepStates`.
   */
  states(ordinals: readonly number[]): Promise<StoredStates[] | undefined>;
  /** All passages with their ordinals, in the order of the index. */
  entries(): AsyncGenerator<[ordinal: number, passage: Passage], void>;
  /**
   * The passages that pass a condition on their metadata, as a `filter` of this generation. It
   * reads the metadata of all passages, and keeps the answers to the last 32 conditions.
   *
   * @throws {InputError} if the condition has another form
   */
  matching(where: Where): Promise<(ordinal: number) => boolean>;
  /** The ordinal of the passage with this id; undefined if there is none. */
  find(id: string): Promise<number | undefined>;
}

/**
 * An index, open for search. It stays at one generation, so changes of the index do not show until
 * `refresh`.
 *
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { ReAtt } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const directory = await mkdtemp(join(tmpdir(), "reatt-"));
 * const passages = [{ id: "1", title: "Normandy", text: "Normandy is a region in France." }];
 * await using index = await model.index(passages, { directory });
 * const [question] = await model.encodeQuestions(["Where is Normandy?"]);
 * const [hit] = await index.search(question!, { topK: 1 });
 * console.log(index.passageCount, hit?.id, hit?.score);
 * ```
 */
export interface TokenIndex extends IndexGeneration, AsyncDisposable {
  /**
   * Opens the newest generation of the index. Calls that are running finish on theirs. Ordinals,
   * and what was made from them, belong to one generation: take them again afterwards.
   *
   * @returns whether there was a newer generation
   * @throws {InputError} if it cannot be opened, or another model made it. The index then stays at
   * its generation.
   */
  refresh(): Promise<boolean>;
  /**
   * Does work that needs several calls on one generation, which stays open meanwhile even if the
   * index is refreshed.
   */
  snapshot<Result>(work: (generation: IndexGeneration) => Promise<Result>): Promise<Result>;
  /**
   * Releases memory and files, as leaving the scope of `await using` does. It waits for the calls
   * that are running; later ones fail. It can be called twice.
   */
  close(): Promise<void>;
}
