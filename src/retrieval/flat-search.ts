/**
 * Exact search on onnxruntime: every key is multiplied with every question token, piece by piece.
 *
 * The products are float32 and only choose the candidates, with a margin for their rounding (engine.ts); the score that
 * is returned is computed again from all tokens of these. So results do not depend on threads, pieces or batches.
 */

import { compile, type Session } from "../tensor/session.ts";
import { trace } from "../tensor/trace.ts";
import { Best } from "./best.ts";
import { float32Error, rescore, type SearchEngine } from "./engine.ts";
import type { KeyPiece, KeyStore } from "./store.ts";

/** Question tokens that are multiplied at once: 16 MB of products with a piece of keys. */
const GROUP_TOKENS = 256;

/** Questions side by side: one product with the keys serves all of them. */
interface Group {
  /** [tokens of all, dimension] */
  readonly queries: Float32Array;
  readonly members: readonly { readonly tokens: number; readonly best: Best }[];
}

export async function openFlatSearch(store: KeyStore): Promise<SearchEngine> {
  const session = await compileProducts(store.dimension);
  return {
    async search(questions, topK, signal) {
      const bests = questions.map((question) => new Best(topK, 2 * float32Error(question, store)));
      const groups = groupQuestions(questions, bests, store.dimension);
      for await (const piece of store.pieces(signal))
        for (const group of groups)
          collect(await products(session, group.queries, piece.keys, store.dimension), group, piece);
      const found = [];
      for (const [i, question] of questions.entries()) {
        signal?.throwIfAborted();
        found.push(await rescore(store, question, bests[i]!.take(), topK));
      }
      return found;
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

function compileProducts(dimension: number): Promise<Session> {
  const graph = trace(
    { queries: ["float32", "question", dimension], keys: ["float32", "token", dimension] },
    (ops, { queries, keys }) => ({ scores: ops.matmul(queries, ops.transpose(keys, [1, 0])) }),
  );
  return compile(graph);
}

/** [question tokens, tokens] */
async function products(
  session: Session,
  queries: Float32Array,
  keys: Float32Array,
  dimension: number,
): Promise<Float32Array> {
  const { scores } = await session.run<"scores">({
    queries: { data: queries, shape: [queries.length / dimension, dimension] },
    keys: { data: keys, shape: [keys.length / dimension, dimension] },
  });
  return scores.data as Float32Array;
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

/** Scores the passages of a piece from the products of their tokens. `scores` is [question tokens, tokens]. */
function collect(scores: Float32Array, { members }: Group, { first, starts }: KeyPiece): void {
  const passages = starts.length - 1;
  const tokens = starts[passages]!;
  const sums = new Float64Array(passages);
  let row = 0;
  for (const { tokens: count, best } of members) {
    sums.fill(0);
    for (const end = row + count; row < end; row++) addMaxima(sums, scores, row * tokens, starts);
    for (let p = 0; p < passages; p++) best.push(first + p, sums[p]! / count);
  }
}

/** Adds to `sums[p]` the maximum of `scores` from `offset + starts[p]` up to `offset + starts[p + 1]`. */
function addMaxima(sums: Float64Array, scores: Float32Array, offset: number, starts: Uint32Array): void {
  for (let p = 0; p < sums.length; p++) {
    const end = offset + starts[p + 1]!;
    let best = -Infinity;
    for (let i = offset + starts[p]!; i < end; i++) if (scores[i]! > best) best = scores[i]!;
    sums[p]! += best;
  }
}
