/** Writing a file so that nothing whole is ever overwritten by something half. */

import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { InputError, systemProblem } from "./errors.ts";

/**
 * Writes to a temporary file beside `path`, and puts it in its place once it is whole and on the disk.
 *
 * @throws {InputError} where the system refuses (a full disk, no permission); `path` is then as it was.
 */
export async function replaceFile(
  path: string,
  write: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const temporary = `${path}.new`; // always the same, so that what a killed process left is written over
  try {
    const file = await open(temporary, "w");
    try {
      await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {}); // the first error is the one to tell
    throw (error as NodeJS.ErrnoException).syscall === undefined
      ? error
      : cannotWrite(path, error as Error);
  }
}

/** Makes the names in a directory durable: created, renamed and removed files. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === "win32") return; // directories cannot be opened there
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function cannotWrite(where: string, cause: NodeJS.ErrnoException): InputError {
  const remedy =
    cause.code === "ENOSPC"
      ? "free some space on the disk and run it again"
      : "choose a place where you may write";
  return new InputError(
    { where, expected: "to be able to write", got: systemProblem(cause), remedy },
    { cause },
  );
}
