/**
 * A store: an engine outside of this process that holds the passages of an index and finds
 * candidates among them. The model stays here: it makes the codes that a store keeps, and rescores
 * the candidates from them, so a passage has the score that it has in a local index.
 *
 * A store needs no late interaction. It compares one vector for each passage
 * (candidate-vector.ts), its words, and its fields.
 */

import type { Passage } from "../../../text/passage.ts";
import type { Where } from "../../where/where.ts";

/** A passage as a store returns it. */
export interface StoredPassage {
  readonly passage: Passage;
  /** The keys of the passage in the codec of the collection (properties.ts). */
  readonly codes: Uint8Array;
}

/** A passage as a store keeps it. */
export interface PassageRow extends StoredPassage {
  /** `digestOf` the passage: one that is stored unchanged is not encoded again. */
  readonly digest: string;
  /** CRC-32 of `codes`. */
  readonly checksum: number;
  /** Number of keys. */
  readonly tokens: number;
  /** Tokens without a key, because the passage is longer than the limit. */
  readonly cutTokens: number;
}

/** What a store is given for a passage. */
export interface NewPassage extends PassageRow {
  /** What candidates are found by: [dimension], of length 1. */
  readonly vector: Float32Array;
  /** The terms of title and text, in their order and with repetitions. */
  readonly terms: readonly string[];
}

/** A term of a question. */
export interface QueryTerm {
  /** The inverse document frequency, times how often the question has the term. */
  readonly weight: number;
  /** Passages with the term when it was last counted. */
  readonly frequency: number;
}

/** Which candidates a store looks for. */
export interface CandidateRequest {
  /** The most candidates. */
  readonly count: number;
  /** Only passages whose fields pass. A store may return others too. */
  readonly where?: Where | undefined;
  /** Only passages with these ids. */
  readonly ids?: readonly string[] | undefined;
}

/** Sums over all passages of a collection. */
export interface StoreStatistics {
  readonly passages: number;
  /** Keys. */
  readonly tokens: number;
  /** Terms, with repetitions. */
  readonly terms: number;
  readonly cutPassages: number;
  readonly cutTokens: number;
  /** Another text after each change of a passage. */
  readonly version: string;
}

/** What a synchronisation changes, all at once. */
export interface Publication {
  /** The digests of staged passages, by their ids. */
  readonly put: ReadonlyMap<string, string>;
  /** The ids of passages that go. */
  readonly deleted: readonly string[];
}

/** A record with the contents that it must have. */
export interface RecordState {
  readonly name: string;
  readonly contents: string;
}

/** Passages that wait in a store with transactions, where nothing finds them. */
export interface Staging {
  /** Adds passages, as `put` of the store does. */
  put(passages: readonly NewPassage[]): Promise<void>;
  /** The digests of those of the passages that wait, by id. */
  digests(ids: readonly string[]): Promise<Map<string, string>>;
  /**
   * Changes the collection in one transaction: no reader sees a part of the change. Then nothing
   * waits any more.
   *
   * @returns false, without a change, if the record is another one or a passage does not wait
   */
  publish(publication: Publication, only: RecordState): Promise<boolean>;
}

/**
 * A collection of a store. Every method can be repeated after a failure. A failed connection is an
 * `InputError` with the code `ERR_REATT_STORE_AWAY`.
 */
export interface Store extends AsyncDisposable {
  /** The address without a password, for messages. */
  readonly address: string;
  /** Creates the collection with this record, unless there is one. Returns the record it has. */
  create(dimension: number, properties: string): Promise<string>;
  /**
   * Removes the collection with all its passages and records.
   *
   * @throws {InputError} if there is something of others under its name, which then stays
   */
  drop(): Promise<void>;
  /** A text that the collection has under a name; undefined without it, or without a collection. */
  record(name: string): Promise<string | undefined>;
  writeRecord(name: string, contents: string): Promise<void>;
  /** The names of records that begin so. */
  recordNames(prefix: string): Promise<string[]>;
  /** Adds passages. They replace those with the same ids. They are durable when it returns. */
  put(passages: readonly NewPassage[]): Promise<void>;
  /** @returns the number of passages that were deleted */
  delete(ids: readonly string[]): Promise<number>;
  /** The digests of those of the passages that are there, by id. */
  digests(ids: readonly string[]): Promise<Map<string, string>>;
  /** Those of the passages that are there, in any order. */
  get(ids: readonly string[]): Promise<StoredPassage[]>;
  /** About the passages with the greatest products of `vector` with theirs. */
  nearest(vector: Float32Array, request: CandidateRequest): Promise<StoredPassage[]>;
  /** About the best passages by BM25. */
  withWords(
    terms: ReadonlyMap<string, QueryTerm>,
    request: CandidateRequest,
  ): Promise<StoredPassage[]>;
  /** The number of passages with each term. */
  frequencies(terms: readonly string[]): Promise<number[]>;
  statistics(): Promise<StoreStatistics>;
  /** Bytes that the collection takes; of a store that does not know, those that it was given. */
  bytes(): Promise<number>;
  /** The passages whose fields pass; a store may return others too. */
  matching(where: Where): AsyncGenerator<Passage>;
  /** All passages, each once, in an order of the store. */
  rows(): AsyncGenerator<PassageRow>;
  /** Does work whose reads are of one moment; in a store without transactions, each of its own. */
  snapshot<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Undefined for a store without transactions. */
  readonly staging?: Staging | undefined;
}
