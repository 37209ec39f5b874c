/** The public interface of an open token index. */

import { filterOption } from "../../options/arguments.ts";
import { type Given, integer } from "../../options/option.ts";
import type { Passage } from "../../text/passage.ts";
import type { IndexHeader } from "../index/format/manifest.ts";

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

/**
 * One generation of an index, open for search. Later changes to the index do not show.
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
export interface TokenIndex extends AsyncDisposable {
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
  passages(ordinals: readonly number[]): Promise<Passage[]>;
  /** All passages with their ordinals, in the order of the index. */
  entries(): AsyncGenerator<[ordinal: number, passage: Passage], void>;
  /** The ordinal of the passage with this id; undefined if there is none. */
  find(id: string): Promise<number | undefined>;
  /**
   * Releases memory and files, as leaving the scope of `await using` does. It waits for the calls
   * that are running; later ones fail. It can be called twice.
   */
  close(): Promise<void>;
}
