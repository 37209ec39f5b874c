/**
 * T5's relative position bias (Raffel et al. 2020, section 2.1): a learned scalar for each head and
 * bucket of distances, added to attention scores. Each small distance has its own bucket; larger
 * distances share buckets whose width grows logarithmically.
 */

import type { Ops, Tensor } from "../../tensor/ops.ts";
import type { ModelConfig } from "../config.ts";
import type { Leaf } from "../leaf.ts";
import type { HeadSizes } from "../parameters.ts";
import { MASKED } from "./attention.ts";

/** The table of a stack: [relativeBuckets, heads] */
export const relativeBiasLeaf = <T>(
  leaf: Leaf<T>,
  stack: string,
  buckets: number,
  { heads, width }: HeadSizes & { readonly width: number },
): T => leaf(`${stack}.relative_attention_bias.weight`, [buckets, heads], width ** -0.5);

/**
 * The bucket of each pair of positions, int32 [query, key].
 *
 * The encoder has buckets for both directions. In the decoder, keys after their query have the
 * extra bucket `relativeBuckets`, which masks them.
 *
 * @param firstQuery the position of the first query, if the keys before it come from a cache
 */
export function positionBuckets(
  config: ModelConfig,
  stack: "encoder" | "decoder",
  query: number,
  key: number = query,
  firstQuery = 0,
): Tensor {
  const furthest = firstQuery + Math.max(query, key);
  const ofDistance = Int32Array.from({ length: 2 * furthest + 1 }, (_, i) =>
    bucketOf(config, stack, i - furthest),
  );
  const data = new Int32Array(query * key);
  for (let i = 0; i < query; i++)
    for (let j = 0; j < key; j++) data[i * key + j] = ofDistance[j - (firstQuery + i) + furthest]!;
  return { data, shape: [query, key] };
}

/** `distance` is the key's position minus the query's. */
function bucketOf(config: ModelConfig, stack: "encoder" | "decoder", distance: number): number {
  if (stack === "decoder")
    return distance > 0
      ? config.relativeBuckets
      : bucketOfLength(config.relativeBuckets, config.relativeMaxDistance, -distance);
  const half = config.relativeBuckets / 2;
  return (
    (distance > 0 ? half : 0) + bucketOfLength(half, config.relativeMaxDistance, Math.abs(distance))
  );
}

function bucketOfLength(buckets: number, maxDistance: number, length: number): number {
  const exact = Math.floor(buckets / 2);
  if (length < exact) return length;
  // In float32, as in the training of the checkpoints: at the edge of a bucket float64 can differ.
  const share = Math.fround(
    Math.fround(Math.log(Math.fround(length / exact))) / Math.fround(Math.log(maxDistance / exact)),
  );
  return Math.min(exact + Math.trunc(Math.fround(share * (buckets - exact))), buckets - 1);
}

/**
 * The bias of each pair of positions, with a row {@link MASKED} for the extra bucket:
 * table [buckets, heads], buckets [query, key] -> [1, heads, query, key].
 */
export function relativeBias<T>(ops: Ops<T>, table: T, buckets: T): T {
  const [query, key] = ops.shape(buckets);
  const [, heads] = ops.shape(table);
  const masked = ops.expand(ops.constant({ data: Float32Array.of(MASKED), shape: [1, 1] }), [
    1,
    heads!,
  ]);
  const bias = ops.gather(ops.concat([table, masked], 0), buckets); // [query, key, heads]
  return ops.reshape(ops.transpose(bias, [2, 0, 1]), [1, heads!, query!, key!]);
}
