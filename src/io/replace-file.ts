/**
 * Atomic replacement of files: readers see the old content or the new content, never a part of it.
 */

import { rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { writeErrorFrom } from "./errors.ts";
import { chunksOf, type OpenFile, openFile } from "./open-file.ts";

/**
 * Writes a temporary file beside `path`, makes it durable (fsync) and renames it to `path`.
 *
 * @throws {InputError} if the system cannot write (a full disk, no permission). `path` is then
 * unchanged.
 */
export async function replaceFile(
  path: string,
  write: (file: OpenFile) => Promise<void>,
): Promise<void> {
  // A fixed name, so that the next run overwrites the file of a killed process
  const temporary = `${path}.new`;
  try {
    const file = await openFile(temporary, "w");
    try {
      await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {}); // report the first error
    throw writeErrorFrom(error, path);
  }
}

/**
 * Copies a file in one step.
 *
 * @throws {InputError} as `replaceFile` does. What reading `from` throws is not changed.
 */
export async function replaceByCopy(path: string, from: string): Promise<void> {
  const source = await openFile(from, "r");
  try {
    await replaceFile(path, async (file) => {
      for await (const chunk of chunksOf(source)) await file.appendFile(chunk);
    });
  } finally {
    await source.close();
  }
}

/** Makes changes of the names in a directory durable: created, renamed and removed files. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === "win32") return; // Windows cannot open directories
  const directory = await openFile(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
