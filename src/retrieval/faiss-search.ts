/**
 * Exact search on faiss-node: an inner-product index over all tokens as the first pass, rescoring as the second.
 *
 * Why it is exact. faiss returns for each question token i the K' best tokens of the index; let s_i be the last of
 * their products. A token that was not returned for i has a product of at most s_i. So for any passage
 *
 *     score = mean_i max_j q_i . k_j  <=  mean_i max(seen_i, s_i)
 *
 * where seen_i is the best product of its tokens that were returned for i (-inf if none was), and a passage none of
 * whose tokens was returned scores at most mean_i s_i. Passages are rescored in the order of this bound until it falls
 * below the K-th exact score; if the bound of the unseen does not, K' is doubled. When K' is all tokens, none is unseen.
 * Bounds get a margin for the rounding of float32 products (engine.ts).
 *
 * faiss-node takes arrays of numbers, blocks while it searches, and keeps all keys in memory: 4 bytes a number.
 */

import { InputError } from "../errors.ts";
import { byScore, type ScoredPassage } from "./best.ts";
import { float32Error, type Search, type SearchEngine } from "./engine.ts";
import { avgMax } from "./score.ts";
import type { KeyStore } from "./store.ts";

/** K' of the first try. Source: Retrieval as Attention, section 4.1. */
const FIRST_TOKENS = 2048;

/** The part of faiss-node's `IndexFlatIP` that is used here. */
interface FlatIndex {
  add(vectors: number[]): void;
  /** `distances` and `labels` are [queries, count], best first. */
  search(queries: number[], count: number): { distances: number[]; labels: number[] };
}

interface FilledIndex {
  readonly index: FlatIndex;
  /** The passage of each token. */
  readonly passageOf: Uint32Array;
}

/** Throws `InputError` where faiss-node is not installed. The index is filled by the first search. */
export async function openFaissSearch(store: KeyStore): Promise<SearchEngine> {
  const FlatIndex = await loadFaiss();
  let filled: Promise<FilledIndex> | undefined;
  return {
    async search(questions, search) {
      filled ??= fill(new FlatIndex(store.dimension), store);
      const index = await filled;
      const found = [];
      for (const question of questions) found.push(await searchOne(store, index, question, search));
      return found;
    },
    async [Symbol.asyncDispose]() {
      filled = undefined;
    },
  };
}

async function loadFaiss(): Promise<new (dimension: number) => FlatIndex> {
  const name = "faiss-node"; // optional, so the compiler must not ask for its types
  try {
    const faiss = await import(name);
    return faiss.default.IndexFlatIP;
  } catch (cause) {
    throw new InputError(
      {
        where: "engine faiss",
        expected: "the package faiss-node",
        got: (cause as Error).message.split("\n")[0]!,
        remedy: "install it, or use the engine onnxruntime",
      },
      { cause },
    );
  }
}

async function fill(index: FlatIndex, store: KeyStore): Promise<FilledIndex> {
  const passageOf = new Uint32Array(store.keyCount);
  let token = 0;
  for await (const { ordinals, starts, keys } of store.pieces()) {
    index.add(Array.from(keys));
    for (const [p, ordinal] of ordinals.entries())
      passageOf.fill(ordinal, token + starts[p]!, token + starts[p + 1]!);
    token += starts.at(-1)!;
  }
  return { index, passageOf };
}

async function searchOne(
  store: KeyStore,
  { index, passageOf }: FilledIndex,
  question: Float32Array,
  { topK, accept, signal }: Search,
): Promise<ScoredPassage[]> {
  const margin = float32Error(question, store);
  const queries = Array.from(question);
  const scored = new Map<number, ScoredPassage>();
  for (let count = FIRST_TOKENS; ; count *= 2) {
    signal?.throwIfAborted();
    const all = count >= store.keyCount;
    const hits = index.search(queries, all ? store.keyCount : count);
    const { seen, unseen } = upperBounds(hits, passageOf, queries.length / store.dimension, all);
    let best: ScoredPassage[] = [];
    const isOut = (bound: number) => best.length === topK && bound + margin < best.at(-1)!.score;
    for (const { ordinal, score: bound } of seen) {
      if (isOut(bound)) break;
      if (!accept(ordinal)) continue;
      if (!scored.has(ordinal))
        scored.set(ordinal, { ordinal, score: avgMax(question, await store.keys(ordinal), store.dimension) });
      best = insert(best, scored.get(ordinal)!, topK);
    }
    if (all || isOut(unseen)) return best;
  }
}

/** What each passage with a returned token can score at most, best first, and what any other can. */
function upperBounds(
  { distances, labels }: { distances: number[]; labels: number[] },
  passageOf: Uint32Array,
  questionTokens: number,
  all: boolean,
): { seen: ScoredPassage[]; unseen: number } {
  const count = labels.length / questionTokens;
  const last = Array.from({ length: questionTokens }, (_, i) => distances[(i + 1) * count - 1]!);
  const unseen = mean(last);
  const gains = new Map<number, number>(); // by how much a passage can be above `unseen`, summed
  for (let i = 0; i < questionTokens; i++) {
    const met = new Set<number>();
    for (let rank = i * count; rank < (i + 1) * count; rank++) {
      const ordinal = passageOf[labels[rank]!]!;
      if (met.has(ordinal)) continue; // the first met is the best
      met.add(ordinal);
      gains.set(ordinal, (gains.get(ordinal) ?? 0) + distances[rank]! - last[i]!);
    }
  }
  const seen = [...gains].map(([ordinal, gain]) => ({ ordinal, score: unseen + gain / questionTokens }));
  return { seen: seen.sort(byScore), unseen: all ? -Infinity : unseen };
}

function insert(best: readonly ScoredPassage[], passage: ScoredPassage, topK: number): ScoredPassage[] {
  const at = best.findLastIndex((other) => byScore(other, passage) < 0) + 1;
  return at < topK ? best.toSpliced(at, 0, passage).slice(0, topK) : [...best];
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
