/**
 * Which heads of the teacher the student keeps, and at which place.
 *
 * T5 has one table of relative positions for all layers. So heads of different layers that prefer
 * similar distances share a place.
 */

import { mean } from "../../../src/math/mean.ts";
import type { ModelConfig } from "../../../src/model/config.ts";
import { positionBuckets } from "../../../src/model/layers/relative-position.ts";
import { TEACHER, type TeacherStates } from "./teacher.ts";

export interface HeadPlan {
  /** Of each layer and place: the teacher's head, or -1 for none. */
  readonly heads: readonly (readonly number[])[];
  /** [buckets, places] */
  readonly bias: Float32Array;
  /** The place whose heads prefer the previous token most. */
  readonly previous: number;
  /** The place whose heads prefer distances least. */
  readonly flat: number;
}

/** The bucket of a key directly before the query. */
const PREVIOUS_BUCKET = 1;

/** @param free the layers that keep the flat place and the previous place without a head */
export function planHeads(
  config: ModelConfig,
  texts: readonly TeacherStates[],
  free: { readonly flat: number; readonly previous: number },
): HeadPlan {
  const tables = Array.from({ length: TEACHER.layers }, (_, layer) =>
    distanceTables(config, texts, layer),
  );
  const variances = tables.map((_, layer) =>
    Array.from({ length: TEACHER.heads }, (_, head) =>
      texts.reduce((sum, { headVariances }) => sum + headVariances[layer]![head]!, 0),
    ),
  );
  const best = (layer: number): number[] => byDescending(variances[layer]!).slice(0, config.heads);
  const reference = best(0);
  const spreads = reference.map((head) => spread(tables[0]![head]!));
  const flat = spreads.indexOf(Math.min(...spreads));
  const previous = byDescending(reference.map((head) => tables[0]![head]![PREVIOUS_BUCKET]!))[0]!;
  const heads = tables.map((ofLayer, layer) => {
    if (layer === 0) return reference;
    const closed = [
      ...(layer === free.flat ? [flat] : []),
      ...(layer === free.previous ? [previous] : []),
    ];
    const places = reference.map((_, place) => place).filter((place) => !closed.includes(place));
    return assign(
      reference.map((head) => tables[0]![head]!),
      ofLayer,
      best(layer).slice(0, places.length),
      places,
    );
  });
  return { heads, bias: sharedTable(config, tables, heads), previous, flat };
}

/** Of each head: the mean score by bucket, with the mean of each query's scores subtracted. */
function distanceTables(
  config: ModelConfig,
  texts: readonly TeacherStates[],
  layer: number,
): Float32Array[] {
  const sums = Array.from(
    { length: TEACHER.heads },
    () => new Float32Array(config.relativeBuckets),
  );
  const counts = new Float32Array(config.relativeBuckets);
  for (const { scores } of texts) {
    const values = scores[layer]!;
    const n = Math.sqrt(values.length / TEACHER.heads);
    const buckets = positionBuckets(config, "encoder", n).data;
    // [CLS] and [SEP] are at both ends; they have no distance.
    for (let query = 1; query < n - 1; query++)
      for (let head = 0; head < TEACHER.heads; head++) {
        const row = values.subarray((head * n + query) * n, (head * n + query + 1) * n);
        const average = mean(row.subarray(1, n - 1));
        for (let key = 1; key < n - 1; key++) {
          const bucket = buckets[query * n + key]!;
          sums[head]![bucket]! += row[key]! - average;
          if (head === 0) counts[bucket]!++;
        }
      }
  }
  return sums.map((sum) => sum.map((x, bucket) => x / Math.max(1, counts[bucket]!)));
}

/** Pairs heads with places, the most similar first. */
function assign(
  reference: readonly Float32Array[],
  tables: readonly Float32Array[],
  heads: readonly number[],
  places: readonly number[],
): number[] {
  const pairs = heads.flatMap((head) =>
    places.map((place) => ({ head, place, cost: distance(reference[place]!, tables[head]!) })),
  );
  const assigned: number[] = reference.map(() => -1);
  for (const { head, place } of pairs.toSorted((a, b) => a.cost - b.cost))
    if (assigned[place] === -1 && !assigned.includes(head)) assigned[place] = head;
  return assigned;
}

/** The mean over layers, weighted by how much the heads depend on distances. */
function sharedTable(
  { relativeBuckets, heads: places }: ModelConfig,
  tables: readonly (readonly Float32Array[])[],
  heads: readonly (readonly number[])[],
): Float32Array {
  const shared = new Float32Array(relativeBuckets * places);
  for (let place = 0; place < places; place++) {
    const ofPlace = heads.flatMap((layer, n) =>
      layer[place]! < 0 ? [] : [tables[n]![layer[place]!]!],
    );
    const total = ofPlace.reduce((sum, table) => sum + spread(table), 0);
    for (const table of ofPlace)
      for (let bucket = 0; bucket < relativeBuckets; bucket++)
        shared[bucket * places + place]! += (spread(table) / total) * table[bucket]!;
  }
  return shared;
}

const spread = (table: Float32Array): number => {
  const average = mean(table);
  return Math.sqrt(mean(Array.from(table, (x) => (x - average) ** 2)));
};

const distance = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, x, i) => sum + (x - b[i]!) ** 2, 0);

const byDescending = (values: readonly number[]): number[] =>
  values.map((_, i) => i).toSorted((a, b) => values[b]! - values[a]!);
