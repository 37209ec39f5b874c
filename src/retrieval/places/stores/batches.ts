/** Parts of an import, as a store takes them in one call. */

import type { NewPassage } from "./store.ts";

const BATCH_PASSAGES = 100;
const BATCH_BYTES = 2_000_000; // of codes

/** In the order of their ids, so that two writers do not wait for each other in a circle. */
export function* batches(given: readonly NewPassage[]): Generator<NewPassage[]> {
  const byId = new Map(given.map((row) => [row.passage.id, row]));
  const rows = [...byId.values()].sort((a, b) => (a.passage.id < b.passage.id ? -1 : 1));
  let batch: NewPassage[] = [];
  let bytes = 0;
  for (const row of rows) {
    batch.push(row);
    bytes += row.codes.length;
    if (batch.length < BATCH_PASSAGES && bytes < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}
