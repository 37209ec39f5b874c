/**
 * Transactions: change an index from one generation to the next. manifest.ts explains why a crash
 * leaves it complete.
 */

import { access, readdir, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { createDirectory, syncName } from "../../../io/create-directory.ts";
import type { ErrorCode } from "../../../io/error-codes.ts";
import { InputError } from "../../../io/errors.ts";
import {
  isCodebookName,
  isIndexFile,
  isSegmentName,
  kindOfFolder,
} from "../../../io/index-folder.ts";
import { type LockOptions, whileLocked } from "../../../io/lock.ts";
import { syncDirectory } from "../../../io/replace-file.ts";
import { isInUse, readingErrorFrom, writing } from "../blocks/storage.ts";
import { journalPath } from "../format/journal.ts";
import {
  codebookPath,
  findManifest,
  type Manifest,
  manifestPath,
  readManifest,
  segmentName,
  segmentPath,
  writeManifest,
} from "../format/manifest.ts";
import { BLOCK_CHECKSUMS } from "../format/new-files.ts";
import { WORDS_FILE } from "../format/words-file.ts";
import { writeMissingWords } from "./words.ts";

/** The result of a transaction: the content of the next manifest. */
export type IndexState = Pick<Manifest, "header" | "codec" | "shard" | "segments">;

const FOLDERS = ["segments", "codebooks"];
const STAGE = ".stage";

/** The folder of a segment until it is compressed. */
export const stageName = (segment: string): string => `${segment}${STAGE}`;

/** The folder of the compressed keys of added passages until they are in a segment. */
export const addedName = (segment: string): string => `${segment}.added`;

/**
 * @throws {InputError} if `directory` is a file, if there is an index in it that may not be
 *   replaced, or if it has anything that reatt did not write
 */
export async function checkReplaceable(directory: string, replace: boolean): Promise<void> {
  await checkOwn(directory);
  if (!replace && (await exists(manifestPath(directory)))) throw notReplaceable(directory);
}

/** @throws {InputError} unless `directory` is an index of this version, empty or absent */
export async function checkOwn(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined);
  if (found && !found.isDirectory())
    throw notOwn(directory, "a folder for the index", "a file", "ERR_REATT_BAD_INPUT");
  const kind = await kindOfFolder(directory).catch((error: unknown) => {
    throw readingErrorFrom(error, directory);
  });
  if (kind === "newer") throw notOwn(directory, "an index of version 1", "one of a newer version");
  if (kind === "foreign")
    throw notOwn(directory, "an empty folder or an index", "files that are not those of an index");
}

const notOwn = (
  where: string,
  expected: string,
  got: string,
  code: ErrorCode = "ERR_REATT_FOLDER_EXISTS",
): InputError => new InputError({ code, where, expected, got, remedy: "name a new folder" });

const notReplaceable = (directory: string): InputError =>
  new InputError({
    code: "ERR_REATT_INDEX_EXISTS",
    where: directory,
    expected: "a folder without an index",
    got: "an index",
    remedy:
      "open it, add to it (reatt index add) or replace it (--replace; in code, replace: true)",
  });

/**
 * Replaces the index in `directory`, or creates one. A damaged manifest counts as none.
 *
 * @throws {InputError} if the folder has anything that reatt did not write
 */
export async function replaceIndex(
  directory: string,
  write: (name: string) => Promise<IndexState>,
  options: LockOptions & { readonly replace?: boolean | undefined },
): Promise<Manifest> {
  await checkOwn(directory);
  const before = await findUsableManifest(directory);
  const replace = async (current: Manifest | undefined, name: string): Promise<IndexState> => {
    // Another call may have built it meanwhile.
    if (current && !before && options.replace === false) throw notReplaceable(directory);
    return withWords(directory, await write(name), options);
  };
  return runTransaction(directory, findUsableManifest, replace, options);
}

/**
 * Changes the index in `directory`. What a change that fails has written stays, so that the same
 * change can go on, but not on a full disk: nothing could be deleted from the index there.
 *
 * @throws {InputError} if there is no index
 */
export const updateIndex = (
  directory: string,
  write: (current: Manifest, name: string) => Promise<IndexState>,
  options: LockOptions,
): Promise<Manifest> => {
  const change = async (current: Manifest, name: string): Promise<IndexState> => {
    try {
      return await withWords(directory, await write(current, name), options);
    } catch (error) {
      const isFull = error instanceof InputError && error.code === "ERR_REATT_DISK_FULL";
      if (isFull) await clean(directory, current).catch(() => {}); // the error says more
      throw error;
    }
  };
  return runTransaction(directory, readManifest, change, options);
};

async function withWords(
  directory: string,
  state: IndexState,
  { signal }: LockOptions,
): Promise<IndexState> {
  await writing(directory, () => writeMissingWords(directory, state, signal));
  return state;
}

const findUsableManifest = (directory: string): Promise<Manifest | undefined> =>
  findManifest(directory).catch((error: unknown) => {
    if (!(error instanceof InputError)) throw error;
    return undefined;
  });

/**
 * Locks `directory` and runs `write`, which writes new files beside the old ones. Then makes its
 * result the next generation of the index and removes all other files.
 *
 * `write` receives what `read` returns, and the name for its segment. If it fails, the index stays
 * as it is.
 */
async function runTransaction<Current extends Manifest | undefined>(
  directory: string,
  read: (directory: string) => Promise<Current>,
  write: (current: Current, name: string) => Promise<IndexState>,
  options: LockOptions,
): Promise<Manifest> {
  await writing(directory, async () => {
    for (const folder of FOLDERS) await createDirectory(join(directory, folder));
  });
  return whileLocked(directory, options, async (lock) => {
    const current = await read(directory);
    const generation = current ? current.generation + 1 : await firstGeneration(directory);
    const name = segmentName(generation);
    if (current) await writing(directory, () => clean(directory, current, name));
    const state = await write(current, name);
    const next: Manifest = { ...state, format: "reatt-index", version: 1, generation };
    await lock.assertHeld();
    await writing(directory, async () => {
      await syncFolders(directory, next);
      await writeManifest(directory, next);
      await clean(directory, next);
    });
    return next;
  });
}

/**
 * Makes the names of all files of `manifest` durable. `fsync` of a file does not, so without this
 * call a manifest could survive a power cut that its files do not survive.
 */
async function syncFolders(directory: string, { segments, codec }: IndexState): Promise<void> {
  for (const { name } of segments) await syncDirectory(segmentPath(directory, name));
  if (codec.name === "quantised") await syncDirectory(codebookPath(directory, codec.codebook));
  for (const folder of FOLDERS) await syncDirectory(join(directory, folder));
  await syncDirectory(directory);
  await syncName(directory);
}

/**
 * The number of the first generation if there is no manifest: that of an interrupted build, or one
 * above all complete segments, which belong to a manifest that was lost.
 */
async function firstGeneration(directory: string): Promise<number> {
  const names = await readdir(join(directory, "segments"));
  const last = names.filter(isSegmentName).sort().at(-1);
  if (last === undefined) return 1;
  const folder = segmentPath(directory, last);
  const isComplete =
    (await exists(join(folder, BLOCK_CHECKSUMS))) && !(await exists(journalPath(folder)));
  return Number.parseInt(last, 10) + (isComplete && !last.endsWith(STAGE) ? 1 : 0);
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/**
 * Removes what belongs neither to `manifest` nor to the transaction that writes `pending`. Names
 * that no index gives are left alone.
 */
async function clean(
  directory: string,
  { segments, codec }: Manifest,
  pending?: string,
): Promise<void> {
  const kept = segments.map(({ name }) => name);
  if (pending !== undefined) kept.push(pending, stageName(pending), addedName(pending));
  for (const name of await readdir(join(directory, "segments")))
    if (isSegmentName(name) && !kept.includes(name))
      await removeFolder(segmentPath(directory, name));
  for (const name of await readdir(join(directory, "codebooks"))) {
    const path = codebookPath(directory, name);
    if (codec.name === "quantised" && name === codec.codebook) await keepOnly(path, codec.files);
    else if (isCodebookName(name) && name !== pending) await removeFolder(path);
  }
  for (const { name, files, deleted } of segments)
    await keepOnly(segmentPath(directory, name), {
      ...files,
      [WORDS_FILE]: undefined,
      ...(deleted && { [deleted.file]: deleted }),
    });
}

/** Removes the files of an index from a folder that are no key of `files`. */
async function keepOnly(folder: string, files: Readonly<Record<string, unknown>>): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (name in files || !isIndexFile(name)) continue;
    if (name === "window") await removeFolder(path);
    else await remove(rm(path));
  }
}

/** Removes the files of an index from a folder, and the folder if there are no others. */
async function removeFolder(folder: string): Promise<void> {
  if (!(await stat(folder)).isDirectory()) return;
  await keepOnly(folder, {});
  await remove(rmdir(folder));
}

/** What is in use is removed by a later transaction, and a folder with other files stays. */
async function remove(removal: Promise<void>): Promise<void> {
  await removal.catch((error: unknown) => {
    const isOthers = (error as NodeJS.ErrnoException).code === "ENOTEMPTY";
    if (!isInUse(error) && !isOthers) throw error;
  });
}
