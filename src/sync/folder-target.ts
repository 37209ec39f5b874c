/** What a synchronisation reads of an index in a folder. */

import { createOutputDirectory } from "../io/create-directory.ts";
import { whileLocked } from "../io/lock.ts";
import { findManifest } from "../retrieval/index/format/manifest.ts";
import { findAlive } from "../retrieval/index/format/segment.ts";
import { openSnapshot } from "../retrieval/index/format/snapshot.ts";
import { readRecord, syncFolder, writeRecord } from "./record.ts";
import type { IndexReader, SyncTarget } from "./target.ts";

/** @param lock `wait`: seconds to wait for another process */
export const folderTarget = (
  directory: string,
  lock: { readonly wait?: number | undefined; readonly signal?: AbortSignal | undefined },
): Omit<SyncTarget, "create" | "update"> => ({
  directory,
  takesLabels: true,
  async exclusively(work) {
    await createOutputDirectory(syncFolder(directory));
    return whileLocked(syncFolder(directory), lock, work);
  },
  generation: async () => (await findManifest(directory))?.generation,
  open: () => openReader(directory),
  readRecord: () => readRecord(directory),
  writeRecord: (record) => writeRecord(directory, record),
});

async function openReader(directory: string): Promise<IndexReader> {
  const snapshot = await openSnapshot(directory);
  const { segments } = snapshot;
  return {
    async find(id) {
      const found = await findAlive(segments, id);
      return found && segments[found.position]!.passage(found.ordinal);
    },
    async *ids() {
      for (const segment of segments)
        for (let ordinal = 0; ordinal < segment.record.passages; ordinal++)
          if (segment.isAlive(ordinal)) yield (await segment.passage(ordinal)).id;
    },
    [Symbol.asyncDispose]: () => snapshot[Symbol.asyncDispose](),
  };
}
