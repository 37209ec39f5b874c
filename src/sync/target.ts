/** The index that is brought up to date, and the only place that changes it. */

import type { Passage } from "../text/passage.ts";
import { compareWithIndex, type Differences, passagesOf } from "./differences.ts";

/** How the index is changed. `count` is the number of passages. */
export interface SyncTarget {
  readonly directory: string;
  /** Seconds to wait for another process. */
  readonly wait?: number | undefined;
  /** Builds the index. */
  create(passages: AsyncIterable<Passage>, count: number): Promise<void>;
  /** Deletes passages, labels some and adds others in one transaction. Undefined: adds none. */
  update(
    passages: AsyncIterable<Passage> | undefined,
    count: number,
    others: Pick<Differences, "deleted" | "labels">,
  ): Promise<unknown>;
}

/**
 * Gives an index the passages of a file of JSON Lines. Those that it has already are not encoded.
 *
 * @param before the ids that the index has of the same sources, and those of them that go
 */
export async function updateTarget(
  target: SyncTarget,
  { file, count }: { readonly file: string; readonly count: number },
  before: { readonly stale: readonly string[]; readonly deleted: readonly string[] },
  signal: AbortSignal | undefined,
): Promise<void> {
  const { stale, deleted } = before;
  const { stored, labels } = await compareWithIndex(target.directory, file, stale, signal);
  const added = count - stored.size - labels.length;
  const done = new Set([...stored, ...labels.map(({ id }) => id)]);
  const passages = added > 0 ? passagesWithout(done, file, signal) : undefined;
  if (passages || deleted.length + labels.length > 0)
    await target.update(passages, added, { deleted, labels });
}

async function* passagesWithout(
  ids: ReadonlySet<string>,
  file: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Passage, void> {
  for await (const passage of passagesOf(file, signal)) if (!ids.has(passage.id)) yield passage;
}
