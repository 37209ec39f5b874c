/** A token index as its users see it. */

import { InputError } from "../../io/errors.ts";
import type { Passage } from "../../text/passage.ts";
import type { IndexHeader } from "../index/format/manifest.ts";

export interface SearchHit {
  readonly id: string;
  /** Position of the passage in the index, from 0. */
  readonly ordinal: number;
  /** Average over question tokens of the best match among passage tokens (score.ts). */
  readonly score: number;
}

export interface SearchOptions {
  /** How many passages; fewer are returned only where the index, or what the filter leaves of it, has fewer. */
  readonly topK: number;
  /** Only these ids, or only passages whose ordinal it accepts. */
  readonly filter?: ReadonlySet<string> | ((ordinal: number) => boolean) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One whole state of an index: changes made after it was opened do not show. */
export interface TokenIndex extends AsyncDisposable {
  readonly directory: string;
  readonly header: IndexHeader;
  /** 1 for the first state of the index, one more with every change. */
  readonly generation: number;
  readonly passageCount: number;
  readonly tokenCount: number;
  /** The best passages for a question, [tokens, dimension], best first; equal scores in the order of the index. */
  search(question: Float32Array, options: SearchOptions): Promise<SearchHit[]>;
  /** The same for many questions, in one pass over the keys. */
  searchBatch(questions: readonly Float32Array[], options: SearchOptions): Promise<SearchHit[][]>;
  /** The scores that a search gives to the passages at these ordinals, whatever their rank. */
  score(question: Float32Array, ordinals: readonly number[]): Promise<number[]>;
  passages(ordinals: readonly number[]): Promise<Passage[]>;
  /** All passages with their ordinals, in the order of the index. */
  entries(): AsyncGenerator<[ordinal: number, passage: Passage], void>;
  /** The ordinal of the passage with this id, if there is one. */
  find(id: string): Promise<number | undefined>;
}

/** @throws {InputError} unless a number of passages is one. */
export function checkTopK(topK: number): void {
  if (Number.isInteger(topK) && topK >= 1) return;
  throw new InputError({
    where: "topK",
    expected: "a whole number from 1 on",
    got: String(topK),
    remedy: "say how many passages are wanted",
  });
}
