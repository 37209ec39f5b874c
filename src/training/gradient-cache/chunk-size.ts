/** How many questions of a batch are computed together. */

import { mean } from "../../math/mean.ts";
import type { TokenExample } from "../objectives/token-batch.ts";

/**
 * Tokens of the (question, candidate) pairs of a chunk. Their states take 4 kB a token, so that
 * they stay in a processor cache of 16 MB between two operations. Half and twice the number are as
 * fast. The whole batch at once takes a third longer (docs/experiments/speed.md).
 */
export const CHUNK_TOKENS = 2_500;

/**
 * The same for steps that do not read, which compute each token of a passage once. A batch of one
 * chunk runs the lower layers once instead of twice.
 */
export const RETRIEVAL_CHUNK_TOKENS = 16_000;

/**
 * Longer sequences count for more tokens, by their length over this one: attention takes memory
 * with the square of a length. 64 passages of up to 512 tokens at once took 12 GB.
 */
const LONG_SEQUENCE = 256;

/**
 * Questions of a chunk: the largest divisor of the batch size whose chunks have at most
 * `CHUNK_TOKENS` or `RETRIEVAL_CHUNK_TOKENS` tokens on average, where long sequences count for
 * more. All chunks then have the same size and share one graph.
 *
 * @param reads whether the step reads
 */
export function chunkQuestions(examples: readonly TokenExample[], reads: boolean): number {
  const weigh = (length: number): number => length * Math.max(1, length / LONG_SEQUENCE);
  const tokens = examples.map(({ question, passages }) =>
    passages.reduce((sum, passage) => sum + weigh(question.length + passage.length), 0),
  );
  const perQuestion = mean(tokens);
  const divisors = examples.map((_, i) => i + 1).filter((size) => examples.length % size === 0);
  const limit = reads ? CHUNK_TOKENS : RETRIEVAL_CHUNK_TOKENS;
  return divisors.findLast((size) => size * perQuestion <= limit) ?? 1;
}
