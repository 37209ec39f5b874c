/** BM25 over the passages of an open token index. */

import { InputError } from "../io/errors.ts";
import { checkIdList, checkOpenIndex, checkQuestion } from "../options/arguments.ts";
import { callback, SIGNAL } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import { BM25_OPTIONS, LANGUAGE } from "../options/search-request.ts";
import { type Bm25, type Bm25Parameters, bm25Over, type GivenParameters } from "./bm25/bm25.ts";
import { buildInvertedIndex, type InvertedIndexOptions } from "./bm25/inverted-index.ts";
import {
  type IndexGeneration,
  SEARCH_OPTIONS,
  type SearchHit,
  type SearchOptions,
} from "./search/generation.ts";

export type LexicalSearchOptions = Pick<SearchOptions, "topK" | "filter"> & GivenParameters;

/**
 * BM25 for one generation of a token index: the one that `openLexicalIndex` read. Build it again
 * after a `refresh` of the index.
 *
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { type LexicalIndex, openLexicalIndex, ReAtt } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const directory = await mkdtemp(join(tmpdir(), "reatt-"));
 * const passages = [{ id: "1", title: "Normandy", text: "Normandy is a region in France." }];
 * await using index = await model.index(passages, { directory });
 * const lexical: LexicalIndex = await openLexicalIndex(index);
 * console.log(lexical.score("Normandy", ["1"])); // [ 0.12... ]
 * ```
 */
export interface LexicalIndex {
  /**
   * What both methods call, by ordinals of the index and without checks.
   *
   * @internal
   */
  readonly bm25: Bm25;
  /**
   * The `topK` best passages that share a term with the question, best first. Passages with equal
   * scores come in the order of the index. Default of `k1` and `b`: those of `openLexicalIndex`.
   */
  search(question: string, options: LexicalSearchOptions): SearchHit[];
  /** The BM25 score of each passage in `ids`; 0 for a passage without a term of the question. */
  score(question: string, ids: readonly string[], parameters?: GivenParameters): number[];
}

/**
 * Builds a BM25 index over title and text of every passage of `index`, in memory: one that answers
 * at once, with other `k1` and `b`, in another language.
 *
 *     score(q, p) = sum over terms t of q:  idf(t) * tf / (tf + k1 * (1 - b + b * |p| / avgdl))
 *
 * `buildBm25` (bm25.ts) defines the terms. A million passages of 100 words take about 0.5 GB.
 * Hybrid search reads the words that the index holds, with the same scores, and builds this index
 * where it holds none. Build it yourself to use BM25 alone.
 * Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
 *
 * @param options defaults of a search, `k1` (0.9) and `b` (0.4); `language`, by default that of the
 *   passages; `signal`; and `onProgress` with the number of passages read
 * @throws {InputError} if `k1` or `b` is out of range
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { openLexicalIndex, ReAtt } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const passages = [
 *   { id: "1", title: "Normandy", text: "Normandy is a region in France." },
 *   { id: "2", title: "Oxygen", text: "Oxygen is a chemical element." },
 * ];
 * const directory = await mkdtemp(join(tmpdir(), "reatt-"));
 * await using index = await model.index(passages, { directory });
 * const lexical = await openLexicalIndex(index);
 * console.log(lexical.search("Where is Normandy?", { topK: 1 })[0]?.id); // 1
 * ```
 */
export async function openLexicalIndex(
  index: IndexGeneration,
  options?: InvertedIndexOptions & Partial<Bm25Parameters>,
): Promise<LexicalIndex> {
  checkOpenIndex(index, ["entries", "searchBatch"]);
  const { k1, b, ...building } = resolveOptions(OPTIONS, options);
  if (index.isRemote) throw ownWords(index.directory);
  const bm25 = bm25Over(await buildInvertedIndex(index.entries(), building), { k1, b });
  let ordinals: ReadonlyMap<string, number> | undefined; // by id
  const ordinalOf = (id: string): number => {
    ordinals ??= new Map(bm25.ids.map((id, ordinal) => [id, ordinal]));
    return ordinals.get(id) ?? -1;
  };
  return {
    bm25,
    search(question, options) {
      checkQuestion(question);
      const { topK, filter, ...parameters } = resolveOptions(SEARCH, options);
      const accept =
        filter === undefined || typeof filter === "function"
          ? filter
          : (ordinal: number) => filter.has(bm25.ids[ordinal]!);
      const { ordinals, scores } = bm25.rank(question, topK, { accept, ...parameters });
      return Array.from(ordinals, (ordinal, i) => ({
        id: bm25.ids[ordinal]!,
        ordinal,
        score: scores[i]!,
      }));
    },
    score(question, ids, options) {
      checkQuestion(question);
      checkIdList(ids);
      const parameters = resolveOptions(BM25_OPTIONS, options);
      return Array.from(bm25.score(question, ids.map(ordinalOf), parameters));
    },
  };
}

const ownWords = (where: string): InputError =>
  new InputError({
    where,
    expected: "an index in a folder",
    got: "one in a store, which searches words itself",
    remedy: "use hybrid search, without an index of words",
  });

const SEARCH = { ...SEARCH_OPTIONS, ...BM25_OPTIONS };
const OPTIONS = {
  ...BM25_OPTIONS,
  ...LANGUAGE,
  ...SIGNAL,
  onProgress: callback<(passages: number) => void>(),
};

/** For each open token index: its lexical index. */
const cache = new WeakMap<object, Promise<LexicalIndex>>();

/**
 * The lexical index of an open token index, built on first use and kept as long as `index`.
 *
 * `signal` stops the build that this call starts. A build that fails is not cached.
 */
export function cachedLexicalIndex(
  index: IndexGeneration,
  signal?: AbortSignal,
): Promise<LexicalIndex> {
  const known = cache.get(index);
  if (known) return known;
  const opening = openLexicalIndex(index, { signal });
  cache.set(index, opening);
  opening.catch(() => cache.delete(index));
  return opening;
}
