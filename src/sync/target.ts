/** The index that is brought up to date, and the only place that changes it. */

import type { Passage } from "../text/passage.ts";
import { compareWithIndex, type Differences, passagesOf } from "./differences.ts";
import type { FolderRecord } from "./record.ts";

/** What an index has. */
export interface IndexReader extends AsyncDisposable {
  find(id: string): Promise<Passage | undefined>;
  /** The ids of all passages. */
  ids(): AsyncGenerator<string>;
}

/** How the index is read and changed. `count` is the number of passages. */
export interface SyncTarget {
  /** The folder, or the address in a store. */
  readonly directory: string;
  /** Whether `update` takes labels. Otherwise such passages are encoded again. */
  readonly takesLabels: boolean;
  /** Does work while no other synchronisation of the index runs. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Another number after each change of the index; undefined if there is no index. */
  generation(): Promise<number | undefined>;
  open(): Promise<IndexReader>;
  readRecord(): Promise<FolderRecord | undefined>;
  writeRecord(record: FolderRecord): Promise<void>;
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
  await using index = await target.open();
  const found = await compareWithIndex(index, file, stale, signal);
  const { stored } = found;
  const labels = target.takesLabels ? found.labels : [];
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
