/** The float32 pass of a search: products of question tokens and keys on onnxruntime, and avg-max scores from them. */

import { compile } from "../tensor/session.ts";
import { trace } from "../tensor/trace.ts";
import type { Best } from "./best.ts";
import type { KeyPiece } from "./store.ts";

export interface Products extends AsyncDisposable {
  /** `queries` [n, dimension] times `keys` [tokens, dimension], transposed: [n, tokens]. */
  multiply(queries: Float32Array, keys: Float32Array): Promise<Float32Array>;
}

export async function openProducts(dimension: number, threads: number | undefined): Promise<Products> {
  const graph = trace(
    { queries: ["float32", "question", dimension], keys: ["float32", "token", dimension] },
    (ops, { queries, keys }) => ({ scores: ops.matmul(queries, ops.transpose(keys, [1, 0])) }),
  );
  const session = await compile(graph, { threads });
  return {
    async multiply(queries, keys) {
      const { scores } = await session.run<"scores">({
        queries: { data: queries, shape: [queries.length / dimension, dimension] },
        keys: { data: keys, shape: [keys.length / dimension, dimension] },
      });
      return scores.data as Float32Array;
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/** A question that is searched. */
export interface Asked {
  readonly tokens: number;
  readonly best: Best;
}

/** Pushes the scores of the accepted passages of a piece. `products` is [tokens of all questions, tokens of the piece]. */
export function collect(
  products: Float32Array,
  questions: readonly Asked[],
  { ordinals, starts }: KeyPiece,
  accept: (ordinal: number) => boolean,
): void {
  const tokens = starts.at(-1)!;
  const sums = new Float64Array(ordinals.length);
  let row = 0;
  for (const { tokens: count, best } of questions) {
    sums.fill(0);
    for (const end = row + count; row < end; row++) addMaxima(sums, products, row * tokens, starts);
    for (const [p, ordinal] of ordinals.entries()) if (accept(ordinal)) best.push(ordinal, sums[p]! / count);
  }
}

/** Adds to `sums[p]` the maximum of `products` from `offset + starts[p]` up to `offset + starts[p + 1]`. */
function addMaxima(sums: Float64Array, products: Float32Array, offset: number, starts: Uint32Array): void {
  for (let p = 0; p < sums.length; p++) {
    const end = offset + starts[p + 1]!;
    let best = -Infinity;
    for (let i = offset + starts[p]!; i < end; i++) if (products[i]! > best) best = products[i]!;
    sums[p]! += best;
  }
}
