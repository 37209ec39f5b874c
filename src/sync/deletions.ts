/** Keeps a disk that is not mounted, or a source that ends early, from emptying an index. */

import { InputError } from "../io/errors.ts";
import type { Place } from "../retrieval/places/place.ts";
import { textDigestOf, textDigestsOf } from "./differences.ts";

/** What a synchronisation finds no more. */
export interface Disappearance {
  /** The folder, the file or the passages that the index follows. */
  readonly source: string;
  /** The passages of the index that no file has any more. */
  readonly ids: readonly string[];
  /** How many passages the index has of the source. */
  readonly total: number;
  /** The passages that are there, as JSON Lines: a text that only moved is not lost. */
  readonly file: string;
}

/** @throws {InputError} if more than half of what the index has of a source would be deleted */
export async function checkDeletions(
  place: Place,
  { source, ids, total, file }: Disappearance,
  signal: AbortSignal | undefined,
): Promise<void> {
  const isMost = (count: number): boolean => count > total / 2;
  if (!isMost(ids.length)) return;
  const present = await textDigestsOf(file, signal);
  await using index = await place.read();
  let lost = 0;
  for (const id of ids) {
    signal?.throwIfAborted();
    const passage = await index.find(id);
    if (passage && !present.has(textDigestOf(passage))) lost++;
  }
  if (isMost(lost)) throw mostIsGone(place.name, source, lost, total);
}

const mostIsGone = (where: string, source: string, lost: number, total: number): InputError =>
  new InputError({
    where,
    expected: `at least half of its ${total} passages in ${source}`,
    got: total === lost ? "none" : `${total - lost}`,
    remedy:
      "check that all of it is there (a disk that is not mounted is an empty folder), " +
      "or delete the others with --delete (in code, delete: true)",
  });
