/**
 * The gradient cache: exact gradients of a large batch, computed chunk by chunk.
 *
 * The in-batch normaliser Z (loss/cross-document-adjustment.ts) of a question depends on the
 * passages of the whole batch. A chunk alone therefore does not determine the loss of its
 * questions. But chunks depend on each other only through query vectors and token keys. Three
 * passes use that:
 *
 * 1. Vectors: the lower encoder layers of each chunk, without gradients. This gives the query
 *    vectors and token keys v of the batch.
 * 2. Normaliser: from all v, log Z of each question, the batch's mean of log Z, and the gradients
 *    g = d mean(log Z) / dv. The learned scalars get their gradients through Z here.
 * 3. Loss: each chunk with gradients, with the same dropout. log Z is a constant here. The term
 *    alpha sum of g v replaces its derivative, because d(g v) = (d mean(log Z) / dv) dv.
 *
 * Phrases have the tokens of one chunk as negatives, and those of pre-batch passages, in pass 3.
 *
 * A batch of one chunk needs pass 3 only, and so does an objective without in-batch negatives.
 * Pre-batch negatives (pre-batch.ts) always need pass 2: they are more passages of Z there. The
 * gradients do not depend on the division into chunks, apart from rounding. Small chunks are also
 * faster on a processor: their tensors stay in its cache between two operations. Workers compute
 * several chunks at the same time in passes 1 and 3 (engine/workers.ts).
 *
 * Source: Gao et al. 2021 (gradient cache); ReAtt, appendix A. The paper caches the gradients of
 * the whole adjustment loss (Eq. 2). For that, it also records the target attention in pass 1. Here
 * pass 3 computes the target attention, and the cache has only the gradients of the normaliser. The
 * gradients are the same.
 */

import type { ModelConfig } from "../../model/config.ts";
import { type Chunk, chunksOf, type TokenExample } from "../loss/batch.ts";
import type { ObjectiveName } from "../loss/options.ts";
import { type BatchLosses, sumLosses } from "./batch-losses.ts";
import { type DropoutKey, openChunkDropout } from "./chunk-dropout.ts";
import { batchKeys, joinVectors, splitCache } from "./chunk-tensors.ts";
import { openEarlierKeys } from "./earlier-keys.ts";
import type { ChunkPasses, GradientOptions, GradientPasses, Tensors } from "./gradient-passes.ts";
import type { StepKeys } from "./pre-batch.ts";

export interface Batch {
  readonly examples: readonly TokenExample[];
  /** Questions of a chunk. */
  readonly chunkQuestions: number;
  readonly objective: ObjectiveName;
  /** Determines the dropout. */
  readonly key: DropoutKey;
  /** Passages of earlier steps that are negatives, newest first. */
  readonly earlier?: readonly StepKeys[] | undefined;
  /** Called with the keys of the batch, if the objective has an in-batch normaliser. */
  readonly onKeys?: ((keys: Omit<StepKeys, "step">) => void) | undefined;
}

/** Computes the losses of a batch. Adds its gradients to the sums that the passes hold. */
export type GradientAccumulator = (batch: Batch) => Promise<BatchLosses>;

/**
 * @param prepare adds to the tensors of a chunk what the passes need beside those of `chunksOf`
 */
export function gradientAccumulator(
  config: ModelConfig,
  passes: GradientPasses,
  options: GradientOptions,
  prepare?: (chunk: Chunk) => Promise<Chunk>,
): GradientAccumulator {
  const drawDropout = openChunkDropout(config, options);
  return async (batch) => {
    const { examples, chunkQuestions, objective, key } = batch;
    const earlier = openEarlierKeys(config, batch, options);
    const chunks = chunksOf(config, examples, chunkQuestions, { ...options, objective }).map(
      earlier,
    );
    if (prepare) for (const [i, chunk] of chunks.entries()) chunks[i] = await prepare(chunk);
    const dropout = drawDropout(chunks, objective, key);
    const isCached =
      hasInBatchNormaliser(objective, options) && (chunks.length > 1 || batch.onKeys !== undefined);
    const computeOn = async (workers: readonly ChunkPasses[]): Promise<Tensors[]> => {
      const each = forEachChunk(workers, chunks);
      const vectors = isCached ? await each((own, i) => own.vectors(chunks[i]!, dropout[i]!)) : [];
      const caches = isCached ? await cacheGradients(passes, chunks, vectors, options, batch) : [];
      return each((own, i) => own.loss(chunks[i]!, dropout[i]!, objective, caches[i]));
    };
    const isParallel = passes.inParallel !== undefined && chunks.length > 1;
    const losses = await (isParallel ? passes.inParallel!(computeOn) : computeOn([passes]));
    return sumLosses(losses, objective, options);
  };
}

/**
 * Returns a function that runs `work` on all chunks. The chunks i, i + W, i + 2 W, ... are computed
 * one after the other by worker i of W, so the sums of gradients have a fixed order.
 */
const forEachChunk =
  (workers: readonly ChunkPasses[], chunks: readonly Chunk[]) =>
  async <T>(work: (own: ChunkPasses, chunk: number) => Promise<T>): Promise<T[]> => {
    const results: T[] = [];
    const share = async (own: ChunkPasses, first: number): Promise<void> => {
      for (let i = first; i < chunks.length; i += workers.length) results[i] = await work(own, i);
    };
    await Promise.all(workers.map(share));
    return results;
  };

/** Whether the loss of a question depends on the passages of other questions. */
const hasInBatchNormaliser = (
  objective: ObjectiveName,
  { inBatchNegatives }: Pick<GradientOptions, "inBatchNegatives">,
): boolean => inBatchNegatives && objective !== "qa" && objective !== "marginal";

/** Pass 2: the cache of each chunk. */
async function cacheGradients(
  passes: GradientPasses,
  chunks: readonly Chunk[],
  vectors: readonly Tensors[],
  options: GradientOptions,
  { earlier, onKeys }: Batch,
): Promise<Tensors[]> {
  onKeys?.(batchKeys(chunks, vectors));
  const joined = joinVectors(chunks, vectors, options, earlier);
  return splitCache(vectors, await passes.normaliser(joined));
}
