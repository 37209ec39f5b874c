/** Creation of directories whose names survive a power cut. */

import { mkdir, mkdtemp, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { isSystemError, writeErrorFrom } from "./errors.ts";
import { syncDirectory } from "./replace-file.ts";

/**
 * Creates a directory and its missing parents, and makes their names durable. Does nothing if it
 * exists.
 *
 * It calls `mkdir` once for each directory: the recursive `mkdir` of Node reports a read-only disk
 * as ENOENT. An error is the error of the system.
 */
export async function createDirectory(path: string): Promise<void> {
  const directory = resolve(path);
  try {
    await mkdir(directory);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code === "ENOENT" && dirname(directory) !== directory) {
      await createDirectory(dirname(directory));
      return createDirectory(directory);
    }
    if (await isDirectory(directory)) return; // EEXIST, or EROFS, EPERM for a directory that exists
    throw error;
  }
  await syncName(directory);
}

/** As `createDirectory`. @throws {InputError} if the system cannot create it */
export async function createOutputDirectory(path: string): Promise<void> {
  await createDirectory(path).catch((error: unknown) => {
    throw writeErrorFrom(error, path);
  });
}

/**
 * Creates `reatt-NAME-...` where the system has temporary files.
 *
 * @throws {InputError} if it cannot
 */
export async function createTemporaryDirectory(name: string): Promise<string> {
  const folder = tmpdir();
  return mkdtemp(join(folder, `reatt-${name}-`)).catch((error: unknown) => {
    throw writeErrorFrom(error, folder);
  });
}

/**
 * Makes the name of a file or directory durable. A parent that this process may not read cannot be
 * synced; the file system then decides when the name is durable.
 */
export async function syncName(path: string): Promise<void> {
  await syncDirectory(dirname(resolve(path))).catch((error: unknown) => {
    if (!isSystemError(error) || (error.code !== "EACCES" && error.code !== "EPERM")) throw error;
  });
}

const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
