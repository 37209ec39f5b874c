/**
 * Folders that one call fills. Until it is complete, a file says whose it is, so that a call that
 * was killed can be repeated, and the files of others are never taken for those of such a call.
 */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createOutputDirectory } from "./create-directory.ts";
import { InputError } from "./errors.ts";
import { replaceFile } from "./replace-file.ts";

const MARK = "unfinished.reatt";
const isMark = (name: string): boolean => name === MARK || name === `${MARK}.new`;

/** @throws {InputError} if there are files that no unfinished call of reatt wrote */
export async function checkEmptyFolder(path: string): Promise<void> {
  // What creates the folder reports other errors.
  const names = await readdir(path).catch((): string[] => []);
  const [first] = names;
  if (first === undefined || names.includes(MARK) || names.every(isMark)) return;
  throw new InputError({
    code: "ERR_REATT_FOLDER_EXISTS",
    where: path,
    expected: "a new or empty folder",
    got: `one with ${first}`,
    remedy: "name another folder",
  });
}

/**
 * Creates a folder, or takes one that is empty or unfinished, and marks it before all else.
 *
 * @throws {InputError} as `checkEmptyFolder`, and if the system cannot write
 */
export async function beginFolder(path: string): Promise<void> {
  await checkEmptyFolder(path);
  await createOutputDirectory(path);
  await replaceFile(join(path, MARK), (file) => file.writeFile("reatt fills this folder\n"));
}

/** Removes the mark of a folder that is complete. */
export const endFolder = (path: string): Promise<void> => rm(join(path, MARK), { force: true });
