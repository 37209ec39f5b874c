/**
 * Exact search on onnxruntime: every key is multiplied with every question token, piece by piece.
 *
 * The products are float32 and only choose the candidates, with a margin for their rounding (engine.ts); the score that
 * is returned is computed again from all tokens of these. So results do not depend on threads, pieces or batches.
 */

import { Best } from "./best.ts";
import { float32Error, rescore, type SearchEngine } from "./engine.ts";
import { type Asked, collect, openProducts } from "./products.ts";
import type { KeyStore } from "./store.ts";

/** Question tokens that are multiplied at once: 16 MB of products with a piece of keys. */
const GROUP_TOKENS = 256;

/** Questions side by side: one product with the keys serves all of them. */
interface Group {
  /** [tokens of all, dimension] */
  readonly queries: Float32Array;
  readonly members: readonly Asked[];
}

export async function openFlatSearch(store: KeyStore, threads: number | undefined): Promise<SearchEngine> {
  const products = await openProducts(store.dimension, threads);
  return {
    async search(questions, { topK, accept, signal }) {
      const bests = questions.map((question) => new Best(topK, 2 * float32Error(question, store)));
      const groups = groupQuestions(questions, bests, store.dimension);
      for await (const piece of store.pieces(signal))
        for (const { queries, members } of groups)
          collect(await products.multiply(queries, piece.keys), members, piece, accept);
      const found = [];
      for (const [i, question] of questions.entries()) {
        signal?.throwIfAborted();
        const ordinals = Uint32Array.from(bests[i]!.take(), ({ ordinal }) => ordinal);
        found.push(await rescore(store, products, question, ordinals.sort(), topK));
      }
      return found;
    },
    [Symbol.asyncDispose]: () => products[Symbol.asyncDispose](),
  };
}

function groupQuestions(
  questions: readonly Float32Array[],
  bests: readonly Best[],
  dimension: number,
): Group[] {
  const groups: number[][] = [];
  let room = 0;
  for (const [i, { length }] of questions.entries()) {
    const tokens = length / dimension;
    if (tokens > room || groups.length === 0) {
      groups.push([]);
      room = GROUP_TOKENS;
    }
    groups.at(-1)!.push(i);
    room -= tokens;
  }
  return groups.map((group) => ({
    queries: Float32Array.from(group.flatMap((i) => [...questions[i]!])),
    members: group.map((i) => ({ tokens: questions[i]!.length / dimension, best: bests[i]! })),
  }));
}
