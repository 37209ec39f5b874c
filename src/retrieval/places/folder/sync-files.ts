/** The record and the lock of a synchronisation, in `sync/` below an index. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createOutputDirectory } from "../../../io/create-directory.ts";
import { inputErrorFrom, isMissing } from "../../../io/errors.ts";
import { type LockOptions, whileLocked } from "../../../io/lock.ts";
import { replaceFile } from "../../../io/replace-file.ts";

const syncFolder = (directory: string): string => join(directory, "sync");
const recordPath = (directory: string): string => join(syncFolder(directory), "record.json");

export async function readSyncRecord(directory: string): Promise<string | undefined> {
  const path = recordPath(directory);
  return readFile(path, "utf8").catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw inputErrorFrom(error, {
      where: path,
      expected: "to be able to read the record of the folder",
      remedy: "check the disk and the permissions of the file",
    });
  });
}

export async function writeSyncRecord(directory: string, text: string): Promise<void> {
  await createOutputDirectory(syncFolder(directory));
  await replaceFile(recordPath(directory), (file) => file.writeFile(text));
}

/** @param options `wait`: seconds to wait for another process */
export async function whileSynchronising<Result>(
  directory: string,
  options: LockOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const folder = syncFolder(directory);
  await createOutputDirectory(folder);
  return whileLocked(folder, options, work);
}
