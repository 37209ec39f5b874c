/** One generation of an index, open for search. It checks the arguments of callers. */

import type { StoredStates } from "../../encoder/state-cache.ts";
import {
  checkId,
  checkOrdinals,
  checkPositions,
  checkVectorList,
  checkVectors,
  filterOption,
} from "../../options/arguments.ts";
import { type Given, integer, SIGNAL } from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import { type LinkOf, linkOf } from "../../text/link.ts";
import type { Passage } from "../../text/passage.ts";
import type { Codebook } from "../codec/codec.ts";
import { rotate, rotateBack } from "../codec/opq-rotation.ts";
import type { IndexHeader, Manifest } from "../index/format/manifest.ts";
import type { PassageFields } from "../index/format/packed-passage.ts";
import { packedTokens, unpackStates } from "../index/format/packed-states.ts";
import type { Segment } from "../index/format/segment.ts";
import type { PassageStore } from "../index/format/store.ts";
import { type Ranking, ranked } from "../scoring/top-k.ts";
import { createMatcher, type Matcher } from "../where/matcher.ts";
import { parseWhere } from "../where/parse-where.ts";
import { type Where, whereSchema } from "../where/where.ts";
import type { SearchEngine } from "./engine.ts";
import {
  matchTokens,
  type PassageScorer,
  type TokenMatch,
  tokenProducts,
} from "./passage-scorer.ts";
import type { WordSearch } from "./word-search.ts";

export interface SearchHit {
  /** The id of the passage. */
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
  /** The ids, or the ordinals, that the search may return. Default: every passage. */
  filter: filterOption,
};

const SEARCH = { ...SEARCH_OPTIONS, ...SIGNAL };
const WHERE = { where: whereSchema };

export interface SearchOptions extends Given<typeof SEARCH_OPTIONS>, Given<typeof SIGNAL> {}

/** Which passages a search may return. */
export interface Selection {
  readonly filter?: SearchOptions["filter"];
  readonly where?: Where | undefined;
}

/** A search without checks. */
export interface RankingRequest {
  readonly topK: number;
  /** Whether the search may return the passage, which is not deleted. Default: every passage. */
  readonly accept?: ((ordinal: number) => boolean) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a generation is made of. */
export interface OpenParts {
  readonly directory: string;
  readonly collection: string;
  readonly manifest: Pick<Manifest, "header" | "generation">;
  /** The beginning of the addresses of documents. Default: that of the index. */
  readonly linkBase?: string | undefined;
  readonly store: PassagesWithKeys;
  /** The segments that the store reads; of an index in a folder. */
  readonly segments?: readonly Segment[] | undefined;
  /** Of an index that joins others (joined-generation.ts). */
  readonly joined?: JoinedIndexes | undefined;
  /** Takes rotated questions, if the keys of the store are rotated. */
  readonly engine: SearchEngine;
  readonly scorer: PassageScorer;
  /** Of a compressed index. */
  readonly codebook?: Codebook | undefined;
  /** BM25 over the words that the index holds; undefined if it holds none. */
  readonly openWords: () => Promise<WordSearch | undefined>;
  /** Of an index whose passages are in a store. */
  readonly remote?: RemotePassages | undefined;
}

/** The passages of an index, and the keys of each. Equal ids can be in several collections. */
type PassagesWithKeys = Omit<PassageStore, "pieces" | "keyCount" | "find"> & {
  find(id: string, collection?: string): Promise<number | undefined>;
};

/** The indexes that one joins. */
export interface JoinedIndexes {
  readonly members: readonly IndexGeneration[];
  /** The index that a passage is in. */
  ownerOf(ordinal: number): IndexGeneration;
  readonly linkOf: LinkOf;
}

/**
 * What an index does in another way if its passages are in a store. A passage then gets its ordinal
 * when it is found first.
 */
export interface RemotePassages {
  readonly accepting: IndexGeneration["accepting"];
  readonly matching: Matcher;
  /** The passages at these ordinals, with few questions to the store. */
  passages(ordinals: readonly number[]): Promise<Passage[]>;
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
export class IndexGeneration {
  /** The folder of the index. */
  readonly directory: string;
  /** What a search over several indexes calls its passages by. */
  readonly collection: string;
  /** What its keys belong to: the model, the lengths of texts and vectors, the prompts. */
  readonly header: IndexHeader;
  /** 1 for the first generation of the index; each change adds 1. */
  readonly generation: number;
  /** The number of passages that are not deleted. */
  readonly passageCount: number;
  /** The number of their keys. */
  readonly tokenCount: number;
  /** The address of the document of a passage, as the index links them (`linkBase`). */
  readonly linkOf: LinkOf;
  /**
   * Whether its passages are in a store, which counts words itself.
   *
   * @internal
   */
  readonly isRemote: boolean;
  readonly #parts: OpenParts;
  #words: ReturnType<OpenParts["openWords"]> | undefined;
  readonly #store: OpenParts["store"];
  readonly #remote: RemotePassages | undefined;
  readonly #engine: SearchEngine;
  readonly #scorer: PassageScorer;
  readonly #matcher: Matcher;
  readonly #codebook: Codebook | undefined;

  /** @internal */
  constructor(parts: OpenParts) {
    const { directory, collection, manifest, store, engine, scorer, codebook, remote } = parts;
    const { linkBase = manifest.header.linkBase } = parts;
    this.directory = directory;
    this.collection = collection;
    this.header = { ...manifest.header, ...(linkBase !== undefined && { linkBase }) };
    this.generation = manifest.generation;
    this.passageCount = store.passageCount;
    this.tokenCount = store.tokenCount;
    this.linkOf = parts.joined?.linkOf ?? ((passage) => linkOf(passage, linkBase));
    this.isRemote = remote !== undefined;
    this.#parts = parts;
    this.#store = store;
    this.#remote = remote;
    this.#engine = engine;
    this.#scorer = scorer;
    this.#matcher = createMatcher(store);
    this.#codebook = codebook;
  }

  /**
   * The best passages for a question, [tokens, dimension], best first; equal scores in the order of
   * the index.
   *
   * @throws {InputError} if `topK` is not a whole number from 1, or the index is closed
   */
  async search(question: Float32Array, options: SearchOptions): Promise<SearchHit[]> {
    return (await this.searchBatch([question], options))[0]!;
  }

  /** The same for many questions, in one pass over the keys. */
  async searchBatch(
    questions: readonly Float32Array[],
    options: SearchOptions,
  ): Promise<SearchHit[][]> {
    const { topK, filter, signal } = resolveOptions(SEARCH, options);
    checkVectorList(questions, this.header.dimension);
    const accept = await this.accepting({ filter });
    const found: SearchHit[][] = [];
    for (const { ordinals, scores } of await this.rankings(questions, { topK, accept, signal })) {
      const passages = await this.passages([...ordinals]);
      found.push(passages.map(({ id }, i) => ({ id, ordinal: ordinals[i]!, score: scores[i]! })));
    }
    return found;
  }

  /**
   * As `searchBatch`, without ids and checks: it reads no passage.
   *
   * @internal
   */
  async rankings(
    questions: readonly Float32Array[],
    { topK, accept, signal }: RankingRequest,
  ): Promise<readonly Ranking[]> {
    const rotated = questions.map((question) => this.#rotated(question));
    const few = accept && this.#fewAccepted(accept, topK);
    if (few) return this.#scorer.best(rotated, few, topK, signal);
    return this.#engine.search(rotated, { topK, accept: accept ?? this.#alive, signal });
  }

  /**
   * As `rankings`, and each has the accepted passages `also` of its question too.
   *
   * @internal
   */
  async rankingsAlso(
    questions: readonly Float32Array[],
    also: readonly Uint32Array[],
    { topK, accept, signal }: RankingRequest,
  ): Promise<readonly Ranking[]> {
    const { searchAlso } = this.#engine;
    if (searchAlso && !(accept && this.#fewAccepted(accept, topK))) {
      const rotated = questions.map((question) => this.#rotated(question));
      return searchAlso(rotated, also, { topK, accept: accept ?? this.#alive, signal });
    }
    const rankings = await this.rankings(questions, { topK, accept, signal });
    const found: Ranking[] = [];
    // One after the other: the keys of the passages of one question take some MB.
    for (const [i, question] of questions.entries()) {
      signal?.throwIfAborted();
      const known = new Set(rankings[i]!.ordinals);
      const ordinals = also[i]!.filter((ordinal) => !known.has(ordinal));
      const scores = await this.scores(question, ordinals);
      found.push(ranked(joined(rankings[i]!, { ordinals, scores })));
    }
    return found;
  }

  /** Whether a search for few passages takes less time than one for many. */
  get findsFewFaster(): boolean {
    return this.#engine.searchAlso !== undefined;
  }

  /**
   * BM25 of the index; undefined if it must be made of its passages (lexical-index.ts).
   *
   * @internal
   */
  words(): Promise<WordSearch | undefined> {
    if (this.#words) return this.#words;
    const opening = this.#parts.openWords();
    this.#words = opening;
    opening.catch(() => {
      this.#words = undefined;
    });
    return opening;
  }

  /**
   * The passages that a selection leaves, without deleted ones; undefined if it leaves all.
   *
   * @internal
   */
  async accepting({ filter, where }: Selection): Promise<RankingRequest["accept"]> {
    if (this.#remote) return this.#remote.accepting({ filter, where });
    const { isAlive } = this.#store;
    const matches = where && (await this.#matcher(where));
    const passes = filter && (await this.#passing(filter));
    if (!passes) return matches && ((ordinal) => isAlive(ordinal) && matches(ordinal));
    if (!matches) return (ordinal) => isAlive(ordinal) && passes(ordinal);
    return (ordinal) => isAlive(ordinal) && matches(ordinal) && passes(ordinal);
  }

  async #passing(
    filter: NonNullable<SearchOptions["filter"]>,
  ): Promise<(ordinal: number) => boolean> {
    if (typeof filter === "function") return filter;
    const find = (id: string) =>
      Promise.all(this.members.map(({ collection }) => this.#store.find(id, collection)));
    const ordinals = new Set((await Promise.all(Array.from(filter, find))).flat());
    return (ordinal) => ordinals.has(ordinal);
  }

  /** The retrieval scores of the passages at these ordinals. */
  async score(question: Float32Array, ordinals: readonly number[]): Promise<number[]> {
    this.#check(question, ordinals);
    return Array.from(await this.scores(question, Uint32Array.from(ordinals)));
  }

  /**
   * As `score`, without checks.
   *
   * @internal
   */
  scores(question: Float32Array, ordinals: Uint32Array): Promise<Float64Array> {
    return this.#scorer.score(this.#rotated(question), ordinals);
  }

  /**
   * The best token key of the passage for each token of the question. The mean of the scores is the
   * retrieval score of the passage. Of equal keys, the first.
   */
  async matches(question: Float32Array, ordinal: number): Promise<TokenMatch[]> {
    this.#check(question, [ordinal]);
    return matchTokens(this.#store, this.#rotated(question), ordinal);
  }

  /**
   * The products of the vectors of a question with all token keys of the passage, in float64:
   * [question tokens, keys].
   */
  async products(question: Float32Array, ordinal: number): Promise<Float64Array> {
    this.#check(question, [ordinal]);
    return tokenProducts(this.#store, this.#rotated(question), ordinal);
  }

  /**
   * The token keys of the passage as the index stores them, decompressed: [keys, dimension].
   * `positions` selects keys.
   */
  async keys(ordinal: number, positions?: readonly number[]): Promise<Float32Array> {
    checkOrdinals([ordinal], this.#store.ordinalCount);
    const { dimension } = this.header;
    const all = await this.#store.keys(ordinal);
    if (positions) checkPositions(positions, all.length / dimension);
    const keys = positions ? rowsOf(all, positions, dimension) : all;
    return this.#codebook ? rotateBack(keys, this.#codebook.rotation, dimension) : keys.slice();
  }

  /** The passages at these ordinals. */
  async passages(ordinals: readonly number[]): Promise<Passage[]> {
    checkOrdinals(ordinals, this.#store.ordinalCount);
    if (this.#remote) return this.#remote.passages(ordinals);
    return Promise.all(ordinals.map((ordinal) => this.#store.passage(ordinal)));
  }

  /**
   * The states of passages that the index holds, so that reading need not compute them; undefined
   * if it was built without `keepStates`.
   */
  async states(ordinals: readonly number[]): Promise<StoredStates[] | undefined> {
    checkOrdinals(ordinals, this.#store.ordinalCount);
    const { states } = this.header;
    if (!states) return undefined;
    const read = (ordinal: number) => storedStates(this.#store, states.size, ordinal);
    return Promise.all(ordinals.map(read));
  }

  /** All passages with their ordinals, in the order of the index. */
  async *entries(): AsyncGenerator<[ordinal: number, passage: Passage], void> {
    yield* this.#store.entries();
  }

  /**
   * Visits the document and metadata of each passage that has one of them and is not deleted.
   *
   * @internal
   */
  async visitFields(visit: (ordinal: number, fields: PassageFields) => void): Promise<void> {
    for await (const [ordinal, fields] of this.#store.fields())
      if (this.#store.isAlive(ordinal)) visit(ordinal, fields);
  }

  /**
   * The passages that pass a condition on their metadata, as a `filter` of this generation. It
   * reads the metadata of all passages, and keeps the answers to the last 32 conditions.
   *
   * @throws {InputError} if the condition has another form
   */
  async matching(where: Where | string): Promise<(ordinal: number) => boolean> {
    const match = this.#remote?.matching ?? this.#matcher;
    const condition = typeof where === "string" ? parseWhere(where) : where;
    return match(resolveOptions(WHERE, { where: condition }).where);
  }

  /**
   * The ordinal of the passage with this id; undefined if there is none. Of several indexes that
   * have it, in that of the name `collection`, or in the first.
   */
  async find(id: string, collection?: string): Promise<number | undefined> {
    checkId(id);
    return this.#store.find(id, collection);
  }

  /**
   * What it is made of.
   *
   * @internal
   */
  get parts(): OpenParts {
    return this.#parts;
  }

  /**
   * The indexes that it joins; itself if it joins none.
   *
   * @internal
   */
  get members(): readonly IndexGeneration[] {
    return this.#parts.joined?.members ?? [this];
  }

  /**
   * The index that a passage is in.
   *
   * @internal
   */
  ownerOf(ordinal: number): IndexGeneration {
    return this.#parts.joined?.ownerOf(ordinal) ?? this;
  }

  /** Undefined for a store, which looks for accepted passages itself. */
  #fewAccepted(accept: (ordinal: number) => boolean, topK: number): Uint32Array | undefined {
    return this.#remote ? undefined : fewAccepted(this.#store, accept, topK);
  }

  /** Whether a passage is not deleted. */
  get #alive(): (ordinal: number) => boolean {
    const { passageCount, ordinalCount, isAlive } = this.#store;
    return passageCount === ordinalCount ? () => true : isAlive;
  }

  #check(question: Float32Array, ordinals: readonly number[]): void {
    checkVectors(question, this.header.dimension);
    checkOrdinals(ordinals, this.#store.ordinalCount);
  }

  /** The question in the space of the keys. */
  #rotated(question: Float32Array): Float32Array {
    const codebook = this.#codebook;
    return codebook ? rotate(question, codebook.rotation, this.header.dimension) : question;
  }
}

/** The packed states of a passage, which take half of the memory of the others. */
async function storedStates(
  store: Pick<PassageStore, "packedStates">,
  size: number,
  ordinal: number,
): Promise<StoredStates> {
  const { packed, file } = await store.packedStates(ordinal);
  const unpack = () => unpackStates(packed, size, file);
  return { tokens: packedTokens(packed, size), unpack };
}

/** Passages that are scored without an engine, which would look at more of them. */
const FEW_PASSAGES = 512;

/**
 * The accepted passages if they are so few that scoring all of them is exact and cheap with every
 * engine; undefined if there are more.
 */
function fewAccepted(
  { ordinalCount }: Pick<PassageStore, "ordinalCount">,
  accept: (ordinal: number) => boolean,
  topK: number,
): Uint32Array | undefined {
  const most = Math.max(FEW_PASSAGES, topK);
  const accepted: number[] = [];
  for (let ordinal = 0; ordinal < ordinalCount && accepted.length <= most; ordinal++)
    if (accept(ordinal)) accepted.push(ordinal);
  return accepted.length <= most ? Uint32Array.from(accepted) : undefined;
}

/** Copies of rows: [rows, dimension] -> [positions, dimension]. */
function rowsOf(rows: Float32Array, positions: readonly number[], dimension: number): Float32Array {
  const copy = new Float32Array(positions.length * dimension);
  for (const [i, at] of positions.entries())
    copy.set(rows.subarray(at * dimension, (at + 1) * dimension), i * dimension);
  return copy;
}

/** Both rankings in one, unsorted. */
const joined = (a: Ranking, b: Ranking): Ranking => ({
  ordinals: Uint32Array.of(...a.ordinals, ...b.ordinals),
  scores: Float64Array.of(...a.scores, ...b.scores),
});
