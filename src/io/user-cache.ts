/**
 * Files that save a command time and can be removed at any time: in `reatt` in the user's cache,
 * `XDG_CACHE_HOME` or `~/.cache`. A cache that nobody may read or write keeps nothing.
 */

import { mkdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { openFile } from "./open-file.ts";

/** The path of a file of the cache, whether or not it exists. */
export const cachedFile = (...names: readonly string[]): string =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "reatt", ...names);

/** Writes a file of the cache, for this user alone. Readers see the old file or the new one. */
export async function writeCached(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${process.pid}`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await using file = await openFile(temporary, "w", 0o600);
    await file.writeFile(content);
    await rename(temporary, path);
  } catch {
    await rm(temporary, { force: true }).catch(() => {});
  }
}
