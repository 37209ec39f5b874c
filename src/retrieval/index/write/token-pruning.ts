/**
 * Chooses the tokens of a passage that are worth a key in the index.
 *
 * What questions will look for is not known, but what the passage itself looks for with the same retrieval head is: a
 * token weighs what it receives of the attention of all tokens of its passage,
 *
 *     a_j = sum_i softmax_j(q_i . k_j)
 *
 * and the heaviest share of each passage is kept. Nothing is trained, and no passage depends on another, so shards and
 * additions choose as a whole build does. docs/INDEX.md has what this costs in quality, and what other weights cost.
 * The idea of a filter is that of phrase indexes: Seo et al., Real-time open-domain question answering with dense-sparse phrase
 * index, 2019, section 5.2; Lee et al., Learning dense representations of phrases at scale, 2021.
 */

import { InputError } from "../../../io/errors.ts";
import { compile } from "../../../tensor/session.ts";
import { trace } from "../../../tensor/trace.ts";
import { topPositions } from "../../scoring/top-k.ts";

/** Below this, too little of a passage is left to find it by. */
const LEAST_RATIO = 0.25;

export interface TokenPruner extends AsyncDisposable {
  /** The rows of `keys` that are kept, in their order. Both are [tokens, dimension], of the tokens of one passage. */
  prune(queries: Float32Array, keys: Float32Array, keepRatio: number): Promise<Float32Array>;
}

export async function openTokenPruner(dimension: number): Promise<TokenPruner> {
  const graph = trace(
    { queries: ["float32", "token", dimension], keys: ["float32", "token", dimension] },
    (ops, { queries, keys }) => ({
      received: ops.sum(ops.softmax(ops.matmul(queries, ops.transpose(keys, [1, 0]))), [0]),
    }),
  );
  const session = await compile(graph);
  return {
    async prune(queries, keys, keepRatio) {
      const shape = [keys.length / dimension, dimension];
      const { received } = await session.run<"received">({
        queries: { data: queries, shape },
        keys: { data: keys, shape },
      });
      const rows = topPositions(
        received.data as Float32Array,
        keptTokenCount(shape[0]!, keepRatio),
      );
      rows.sort((a, b) => a - b);
      const kept = new Float32Array(rows.length * dimension);
      for (const [i, row] of rows.entries())
        kept.set(keys.subarray(row * dimension, (row + 1) * dimension), i * dimension);
      return kept;
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/** How many tokens of a passage are kept: one at least. */
export const keptTokenCount = (tokens: number, keepRatio: number): number =>
  Math.max(1, Math.round(keepRatio * tokens));

/** Throws `InputError` where `share` is not one of a passage's tokens that can be kept. */
export function checkKeepRatio(keepRatio: number): void {
  if (keepRatio >= LEAST_RATIO && keepRatio <= 1) return;
  throw new InputError({
    where: "keepRatio",
    expected: `a share from ${LEAST_RATIO} to 1`,
    got: String(keepRatio),
    remedy: "choose the share of each passage's tokens to index",
  });
}
