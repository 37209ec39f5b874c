/** Brings an index up to date with a list of passages, which comes from anywhere. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { writePassages } from "../documents/passage-spool.ts";
import { createTemporaryDirectory } from "../io/create-directory.ts";
import { InputError } from "../io/errors.ts";
import type { Place } from "../retrieval/places/place.ts";
import type { Passage } from "../text/passage.ts";
import { readPassages } from "../text/read-passages.ts";
import { checkDeletions } from "./deletions.ts";
import { readRecord } from "./record.ts";
import { type SyncTarget, updateTarget } from "./target.ts";

/**
 * Makes an index have these passages and no others. It builds the index if there is none.
 *
 * @param mayDelete whether more than half of the passages of the index may go
 * @throws {InputError} if there are no passages, an id occurs twice, or the index follows a folder
 */
export async function synchronisePassages(
  passages: AsyncIterable<Passage>,
  target: SyncTarget,
  mayDelete: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { place } = target;
  await place.exclusively(async () => {
    const spool = await createTemporaryDirectory("sync");
    try {
      const file = join(spool, "passages.jsonl");
      await writePassages(file, passages);
      const ids = new Set<string>();
      for await (const { id } of readPassages(file, signal)) ids.add(id); // checks them
      if (!(await place.find())) {
        await place.build(readPassages(file, signal), target.keysOf(ids.size));
        return;
      }
      const folder = (await readRecord(place))?.folder;
      if (folder !== undefined) throw followsFolder(place.name, folder);
      const stale = await idsOf(place);
      const deleted = stale.filter((id) => !ids.has(id));
      if (!mayDelete) {
        const source = "the passages that were given";
        const gone = { source, ids: deleted, total: stale.length, file };
        await checkDeletions(place, gone, signal);
      }
      await updateTarget(target, { file, count: ids.size }, { stale, deleted }, signal);
    } finally {
      await rm(spool, { recursive: true, force: true });
    }
  });
}

/** The ids of all passages of an index. */
async function idsOf(place: Place): Promise<string[]> {
  await using index = await place.read();
  const ids: string[] = [];
  for await (const id of index.ids()) ids.push(id);
  return ids;
}

const followsFolder = (where: string, folder: string): InputError =>
  new InputError({
    where,
    expected: "an index of passages",
    got: `one that follows the folder ${folder}`,
    remedy: "use another index, or give the folder",
  });
