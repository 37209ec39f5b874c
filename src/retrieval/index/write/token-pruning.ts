/**
 * Token pruning: chooses the tokens of a passage that get a key in the index.
 *
 * The weight of a token is the attention that it receives from all tokens of its passage in the
 * retrieval head:
 *
 *     a_j = sum_i softmax_j(q_i . k_j)
 *
 * The tokens with the greatest weights are kept, a fixed share of each passage. Nothing is trained,
 * and passages do not depend on each other, so shards and additions make the same choice as a
 * single build. The method is ours; docs/experiments/index-quality.md has its cost in quality, and
 * that of other weights. Sources of the idea, for phrase indexes: Seo et al., Real-time open-
 * domain question answering with dense-sparse phrase index, 2019, section 5.2; Lee et al.,
 * Learning dense representations of phrases at scale, 2021.
 */

import { compile } from "../../../tensor/session.ts";
import { trace } from "../../../tensor/trace.ts";
import { topPositions } from "../../scoring/top-k.ts";

export interface TokenPruner extends AsyncDisposable {
  /**
   * Returns the rows of `keys` to keep, in order. `queries` and `keys` are [tokens, dimension], of
   * the tokens of one passage.
   */
  prune(queries: Float32Array, keys: Float32Array, keepRatio: number): Promise<Float32Array>;
  /** The numbers of these rows, ascending. */
  keptRows(queries: Float32Array, keys: Float32Array, keepRatio: number): Promise<number[]>;
}

export async function openTokenPruner(dimension: number): Promise<TokenPruner> {
  const graph = trace(
    { queries: ["float32", "token", dimension], keys: ["float32", "token", dimension] },
    (ops, { queries, keys }) => ({
      received: ops.sum(ops.softmax(ops.matmul(queries, ops.transpose(keys, [1, 0]))), [0]),
    }),
  );
  const session = await compile(graph);
  const keptRows: TokenPruner["keptRows"] = async (queries, keys, keepRatio) => {
    const shape = [keys.length / dimension, dimension];
    const { received } = await session.run<"received">({
      queries: { data: queries, shape },
      keys: { data: keys, shape },
    });
    const count = keptTokenCount(shape[0]!, keepRatio);
    return topPositions(received.data as Float32Array, count).sort((a, b) => a - b);
  };
  return {
    keptRows,
    async prune(queries, keys, keepRatio) {
      const rows = await keptRows(queries, keys, keepRatio);
      const kept = new Float32Array(rows.length * dimension);
      for (const [i, row] of rows.entries())
        kept.set(keys.subarray(row * dimension, (row + 1) * dimension), i * dimension);
      return kept;
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/** The number of tokens of a passage to keep: at least 1. */
export const keptTokenCount = (tokens: number, keepRatio: number): number =>
  Math.max(1, Math.round(keepRatio * tokens));
