/**
 * Exact search on onnxruntime: every key is multiplied with every question token, piece by piece.
 *
 * This first pass sums float32 maxima and chooses candidates, with a margin for rounding errors.
 * Rescoring (rescore.ts) computes the scores that are returned, so results do not depend on
 * threads, pieces or batches.
 */

import { compile } from "../../tensor/session.ts";
import { trace } from "../../tensor/trace.ts";
import type { KeyPiece, KeyStore } from "../index/format/store.ts";
import { openMatMul } from "../scoring/matmul.ts";
import { TopK } from "../scoring/top-k.ts";
import { openAlignedKeys, tileTokens } from "./aligned-keys.ts";
import type { SearchEngine } from "./engine.ts";
import { float32Error, rescore } from "./rescore.ts";

/** Question tokens in one product: 16 MB of products with a piece of keys. */
const GROUP_TOKENS = 256;

/** A question of a group. */
interface GroupedQuestion {
  readonly tokens: number;
  readonly best: TopK;
}

/** Questions that share one product with the keys. */
interface QuestionGroup {
  /** [tokens of all questions, dimension] */
  readonly queries: Float32Array;
  readonly members: readonly GroupedQuestion[];
}

/**
 * Opens the engine. `memoryLimit` is the number of bytes of keys that stay in memory between
 * searches.
 */
export async function openFlatSearch(
  store: KeyStore,
  memoryLimit: number,
  threads: number | undefined,
): Promise<SearchEngine> {
  const matmul = await openMatMul(store.dimension, threads);
  const tile = tileTokens(store);
  const maxima = await openMaxima(store.dimension, tile, threads);
  const aligned = openAlignedKeys(store, memoryLimit);
  return {
    async search(questions, { topK, accept, signal }) {
      const bests = questions.map((question) => new TopK(topK, 2 * float32Error(question, store)));
      const groups = groupQuestions(questions, bests, store.dimension);
      for await (const piece of aligned.pieces(signal))
        for (const { queries, members } of groups)
          collect(await maxima.compute(queries, piece.keys), members, piece, tile, accept);
      const found = [];
      for (const [i, question] of questions.entries()) {
        signal?.throwIfAborted();
        const { ordinals } = bests[i]!.take();
        found.push(await rescore(aligned, matmul, question, ordinals.sort(), topK));
      }
      return found;
    },
    keys: aligned,
    async [Symbol.asyncDispose]() {
      await matmul[Symbol.asyncDispose]();
      await maxima[Symbol.asyncDispose]();
    },
  };
}

function groupQuestions(
  questions: readonly Float32Array[],
  bests: readonly TopK[],
  dimension: number,
): QuestionGroup[] {
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

interface Maxima extends AsyncDisposable {
  /**
   * The maxima of the products of `queries` [n, dimension] with each tile of `keys`
   * [tiles x tileTokens, dimension]: [n, tiles].
   */
  compute(queries: Float32Array, keys: Float32Array): Promise<Float32Array>;
}

async function openMaxima(
  dimension: number,
  tile: number,
  threads: number | undefined,
): Promise<Maxima> {
  // The keys are the left operand: onnxruntime copies the right one first.
  const graph = trace(
    {
      queries: ["float32", "question", dimension],
      keys: ["float32", "tile", tile, dimension],
    },
    (ops, { queries, keys }) => ({
      maxima: ops.transpose(ops.max(ops.matmul(keys, ops.transpose(queries, [1, 0])), 1), [1, 0]),
    }),
  );
  const session = await compile(graph, { threads });
  return {
    async compute(queries, keys) {
      const { maxima } = await session.run<"maxima">({
        queries: { data: queries, shape: [queries.length / dimension, dimension] },
        keys: { data: keys, shape: [keys.length / dimension / tile, tile, dimension] },
      });
      return maxima.data as Float32Array;
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/**
 * Pushes the scores of the accepted passages of an aligned piece. `maxima` is
 * [tokens of all questions, tiles].
 */
function collect(
  maxima: Float32Array,
  questions: readonly GroupedQuestion[],
  { ordinals, starts }: KeyPiece,
  tile: number,
  accept: (ordinal: number) => boolean,
): void {
  const firstTiles = starts.map((start) => start / tile);
  const tiles = firstTiles.at(-1)!;
  const sums = new Float64Array(ordinals.length);
  let row = 0;
  for (const { tokens, best } of questions) {
    sums.fill(0);
    for (const end = row + tokens; row < end; row++)
      addMaxima(sums, maxima, row * tiles, firstTiles);
    for (const [p, ordinal] of ordinals.entries())
      if (accept(ordinal)) best.push(ordinal, sums[p]! / tokens);
  }
}

/**
 * Adds to `sums[p]` the maximum of `values` from `offset + starts[p]` to
 * `offset + starts[p + 1]`.
 */
function addMaxima(
  sums: Float64Array,
  values: Float32Array,
  offset: number,
  starts: Uint32Array,
): void {
  for (let p = 0; p < sums.length; p++) {
    const end = offset + starts[p + 1]!;
    let best = -Infinity;
    for (let i = offset + starts[p]!; i < end; i++) if (values[i]! > best) best = values[i]!;
    sums[p]! += best;
  }
}
