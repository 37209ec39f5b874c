/**
 * Search by nearest tokens: an approximate index of tokens chooses candidate passages, which are
 * rescored with all their keys (rescore.ts).
 *
 * For each question token the index returns its nearest tokens; `scoreByHits` ranks their passages.
 * If too few of these are accepted, the search requests more tokens, and in the end rescores every
 * accepted passage. So it always returns `topK` passages if there are as many.
 * Source: Retrieval as Attention, section 4.1; XTR for missing products (token-hits.ts).
 */

import type { KeyStore } from "../index/format/store.ts";
import { openMatMul } from "../scoring/matmul.ts";
import type { Ranking } from "../scoring/top-k.ts";
import type { SearchEngine, SearchRequest } from "./engine.ts";
import { rescore } from "./rescore.ts";
import { FIRST_TOKENS, scoreByHits, type TokenHits } from "./token-hits.ts";

/** The greatest request. Above it, ranking the hits costs more than rescoring passages. */
const MAX_TOKENS = 32_768;

/** Candidates for each hit, and the least number of candidates. */
const CANDIDATES_PER_HIT = 8;
const MIN_CANDIDATES = 256;

/** How to open an engine that fills an index of its own. */
export interface FillOptions {
  /** Threads of onnxruntime. Default: one for each physical core. */
  readonly threads?: number | undefined;
  /** Receives the number of token keys in the engine's own index; 0 during its training. */
  readonly onProgress?: ((progress: FillProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface FillProgress {
  /** Token keys that are in the index of the engine. */
  readonly tokens: number;
  /** Token keys of the index. */
  readonly total: number;
}

export interface TokenFinder extends AsyncDisposable {
  /**
   * For each token of `question`, [tokens, dimension], up to `count` of the nearest tokens. `count`
   * is at most the `keyCount` of the store.
   */
  find(question: Float32Array, count: number): Promise<readonly TokenHits[]>;
}

export async function openTokenSearch(
  store: KeyStore,
  finder: TokenFinder,
  threads: number | undefined,
): Promise<SearchEngine> {
  const matmul = await openMatMul(store.dimension, threads);
  return {
    async search(questions, search) {
      const found: Ranking[] = [];
      for (const question of questions) {
        search.signal?.throwIfAborted();
        const candidates = await findCandidates(store, finder, question, search);
        found.push(await rescore(store, matmul, question, candidates.sort(), search.topK));
      }
      return found;
    },
    async [Symbol.asyncDispose]() {
      await matmul[Symbol.asyncDispose]();
      await finder[Symbol.asyncDispose]();
    },
  };
}

/**
 * Promising passages that are accepted; at least `topK`, if there are as many. With a filter that
 * few passages pass, more tokens are requested for as many candidates.
 */
async function findCandidates(
  store: KeyStore,
  finder: TokenFinder,
  question: Float32Array,
  { topK, accept, signal }: SearchRequest,
): Promise<Uint32Array> {
  const limit = Math.max(MIN_CANDIDATES, CANDIDATES_PER_HIT * topK);
  const most = Math.min(store.keyCount, MAX_TOKENS);
  let found = new Uint32Array();
  for (let count = FIRST_TOKENS; count < 4 * most; count *= 4) {
    signal?.throwIfAborted();
    const { seen } = scoreByHits(await finder.find(question, Math.min(count, most)));
    found = seen.ordinals.filter((ordinal) => accept(ordinal)).subarray(0, limit);
    if (found.length === limit) break;
    const all = acceptedOrdinals(store, accept);
    if (all.length <= limit) return all;
  }
  if (found.length < topK) return acceptedOrdinals(store, accept);
  return found;
}

function acceptedOrdinals(
  { ordinalCount }: KeyStore,
  accept: SearchRequest["accept"],
): Uint32Array {
  const ordinals: number[] = [];
  for (let ordinal = 0; ordinal < ordinalCount; ordinal++)
    if (accept(ordinal)) ordinals.push(ordinal);
  return Uint32Array.from(ordinals);
}
