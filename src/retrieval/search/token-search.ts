/**
 * Search by nearest tokens: an approximate index of tokens finds the passages that are worth scoring, and these are
 * scored by all their keys.
 *
 * Each question token is given its best tokens of the index; `scoreByHits` ranks the passages that these belong to.
 * Where too few of them are accepted, more tokens are asked for, and at last every passage that is accepted is scored.
 * So no search returns less than there is.
 * Source: Retrieval as Attention, section 4.1, with the missing products of XTR (token-hits.ts).
 */

import type { KeyStore } from "../index/format/store.ts";
import { openMatMul } from "../scoring/matmul.ts";
import type { ScoredPassage } from "../scoring/top-k.ts";
import type { SearchEngine, SearchRequest } from "./engine.ts";
import { rescore } from "./rescore.ts";
import { FIRST_TOKENS, scoreByHits, type TokenHits } from "./token-hits.ts";

/** Tokens that are asked for at most: above this, ranking the hits costs more than scoring passages. */
const MOST_TOKENS = 32_768;

/** Passages that are scored for each one that is wanted, and at least: as many as `balanced` scores (open.ts). */
const CANDIDATES_PER_HIT = 8;
const MIN_CANDIDATES = 256;

/** How an engine is opened that fills an index of its own. */
export interface FillOptions {
  /** Of onnxruntime. Default: one for each physical core. */
  readonly threads?: number | undefined;
  /** Hears how many token keys are in the engine's own index: 0 while it is trained. */
  readonly onProgress?: ((progress: FillProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface FillProgress {
  readonly tokens: number;
  readonly total: number;
}

export interface TokenFinder extends AsyncDisposable {
  /** For each token of `question`, [tokens, dimension], up to `count` of the nearest; at most the index's `keyCount`. */
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
      const found: ScoredPassage[][] = [];
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

/** Promising passages that are accepted; `topK` at least, where there are so many. */
async function findCandidates(
  store: KeyStore,
  finder: TokenFinder,
  question: Float32Array,
  { topK, accept, signal }: SearchRequest,
): Promise<Uint32Array> {
  const limit = Math.max(MIN_CANDIDATES, CANDIDATES_PER_HIT * topK);
  const most = Math.min(store.keyCount, MOST_TOKENS);
  for (let count = FIRST_TOKENS; count < 4 * most; count *= 4) {
    signal?.throwIfAborted();
    const { seen } = scoreByHits(await finder.find(question, Math.min(count, most)));
    const promising = seen.filter(({ ordinal }) => accept(ordinal)).slice(0, limit);
    if (promising.length >= topK) return Uint32Array.from(promising, ({ ordinal }) => ordinal);
    const all = acceptedOrdinals(store, accept);
    if (all.length <= limit) return all;
  }
  return acceptedOrdinals(store, accept);
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
