/** The record of an index that `reatt index` built of a folder, so that it can be synchronised. */

import { realpath, stat } from "node:fs/promises";
import { fileId } from "../documents/passages/document-passages.ts";
import type { SkippedFile } from "../documents/read-documents.ts";
import type { Place } from "../retrieval/places/place.ts";
import type { Passage } from "../text/passage.ts";
import { compareFolder, type FoundFile } from "./compare.ts";
import { type FileRecord, failuresOf, type Splitting, splittingOf, writeRecord } from "./record.ts";

/** The files of a folder with their contents at a time. */
export interface FolderContents {
  readonly root: string;
  readonly files: readonly FoundFile[];
}

/**
 * Takes down the contents of a folder before it is read: what changes later has another hash, and
 * the next synchronisation reads it again. Undefined if `source` is no folder.
 *
 * @param index the folder of the index, which may be in `source`
 */
export async function contentsOf(
  source: string,
  index: string,
  signal: AbortSignal | undefined,
): Promise<FolderContents | undefined> {
  const isFolder = await stat(source).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) return undefined;
  const root = await realpath(source);
  const { changed } = await compareFolder(root, index, new Map(), { signal });
  return { root, files: changed };
}

/**
 * Records that the index has these passages of the folder. A file without passages is not recorded,
 * because it may be damaged. One of which only the part before a damage was read has no hash, so
 * that the next synchronisation reads it again.
 *
 * @param skipped what could not be read of the folder
 */
export async function recordBuild(
  place: Place,
  { root, files }: FolderContents,
  passages: AsyncIterable<Passage>,
  skipped: readonly SkippedFile[],
  options: Splitting,
): Promise<void> {
  const failed = skipped.filter(({ isPart, isUnknownFormat }) => !isPart && !isUnknownFormat);
  const problems = new Map(failed.map(({ file, problem }) => [file, problem.message]));
  const ids = new Map<string, string[]>(files.map(({ name }) => [fileId(name), []]));
  for await (const { id } of passages) ids.get(id.split("#", 1)[0]!)?.push(id);
  const indexed = files.filter(({ name }) => ids.get(fileId(name))!.length > 0);
  const recorded = indexed.map(({ name, version, hash }): [string, FileRecord] => [
    name,
    { ...(!problems.has(name) && { version, hash }), ids: ids.get(fileId(name))! },
  ]);
  await place.exclusively(async () =>
    writeRecord(place, {
      folder: root,
      failed: failuresOf(skipped),
      splitting: splittingOf(options),
      generation: (await place.find())!.generation,
      files: Object.fromEntries(recorded),
    }),
  );
}
