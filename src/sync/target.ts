/** Brings the passages of an index up to date. Nothing else changes it. */

import type { AddRequest, Place } from "../retrieval/places/place.ts";
import type { Passage } from "../text/passage.ts";
import { compareWithIndex, passagesOf } from "./differences.ts";

/** The index that is brought up to date. */
export interface SyncTarget {
  readonly place: Place;
  /** What makes the keys of this number of passages. */
  keysOf(count: number): AddRequest;
}

/**
 * Gives an index the passages of a file of JSON Lines. Those that it has already are not encoded.
 *
 * @param before the ids that the index has of the same sources, and those of them that go
 */
export async function updateTarget(
  { place, keysOf }: SyncTarget,
  { file, count }: { readonly file: string; readonly count: number },
  before: { readonly stale: readonly string[]; readonly deleted: readonly string[] },
  signal: AbortSignal | undefined,
): Promise<void> {
  const { stale, deleted } = before;
  await using index = await place.read();
  const found = await compareWithIndex(index, file, stale, signal);
  const { stored } = found;
  const labels = place.folder ? found.labels : []; // elsewhere such passages are encoded again
  const added = count - stored.size - labels.length;
  const done = new Set([...stored, ...labels.map(({ id }) => id)]);
  const passages = added > 0 ? passagesWithout(done, file, signal) : undefined;
  if (passages || deleted.length + labels.length > 0)
    await place.add(passages, { ...keysOf(added), deleted, labels });
}

async function* passagesWithout(
  ids: ReadonlySet<string>,
  file: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Passage, void> {
  for await (const passage of passagesOf(file, signal)) if (!ids.has(passage.id)) yield passage;
}
