/**
 * Transactions: change an index from one generation to the next. manifest.ts explains why a crash
 * leaves it complete.
 */

import { access, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { createDirectory, syncName } from "../../../io/create-directory.ts";
import { InputError } from "../../../io/errors.ts";
import { type LockOptions, whileLocked } from "../../../io/lock.ts";
import { syncDirectory } from "../../../io/replace-file.ts";
import { isInUse, writing } from "../blocks/storage.ts";
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

/** The folder of the float32 segment until it is compressed. */
export const stageName = (segment: string): string => `${segment}${STAGE}`;

/** The folder of the compressed keys of added passages until they are in a segment. */
export const addedName = (segment: string): string => `${segment}.added`;

/**
 * @throws {InputError} if `directory` is a file, or if there is an index in it that may not be
 * replaced
 */
export async function checkReplaceable(directory: string, replace: boolean): Promise<void> {
  const isFile = await stat(directory).then(
    (found) => !found.isDirectory(),
    () => false,
  );
  if (isFile)
    throw new InputError({
      where: directory,
      expected: "a folder for the index",
      got: "a file",
      remedy: "name a new folder",
    });
  const exists = await access(manifestPath(directory)).then(
    () => true,
    () => false,
  );
  if (exists && !replace) throw notReplaceable(directory);
}

const notReplaceable = (directory: string): InputError =>
  new InputError({
    code: "ERR_REATT_INDEX_EXISTS",
    where: directory,
    expected: "a folder without an index",
    got: "an index",
    remedy:
      "open it, add to it (reatt index add) or replace it (--replace; in code, replace: true)",
  });

/** Replaces the index in `directory`, or creates one. A damaged manifest counts as none. */
export async function replaceIndex(
  directory: string,
  write: (name: string) => Promise<IndexState>,
  options: LockOptions & { readonly replace?: boolean | undefined },
): Promise<Manifest> {
  const before = await findUsableManifest(directory);
  const replace = (current: Manifest | undefined, name: string): Promise<IndexState> => {
    // Another call may have built it meanwhile.
    if (current && !before && options.replace === false) throw notReplaceable(directory);
    return write(name);
  };
  return runTransaction(directory, findUsableManifest, replace, options);
}

/**
 * Changes the index in `directory`.
 *
 * @throws {InputError} if there is no index
 */
export const updateIndex = (
  directory: string,
  write: (current: Manifest, name: string) => Promise<IndexState>,
  options: LockOptions,
): Promise<Manifest> => runTransaction(directory, readManifest, write, options);

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
    await writing(directory, () => writeMissingWords(directory, state, options.signal));
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
  const last = (await readdir(join(directory, "segments"))).sort().at(-1);
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

/** Removes what belongs neither to `manifest` nor to the transaction that writes `pending`. */
async function clean(
  directory: string,
  { segments, codec }: Manifest,
  pending?: string,
): Promise<void> {
  const kept = segments.map(({ name }) => name);
  if (pending !== undefined) kept.push(pending, stageName(pending), addedName(pending));
  for (const name of await readdir(join(directory, "segments")))
    if (!kept.includes(name)) await remove(segmentPath(directory, name));
  for (const name of await readdir(join(directory, "codebooks"))) {
    const path = codebookPath(directory, name);
    if (codec.name === "quantised" && name === codec.codebook) await keepOnly(path, codec.files);
    else if (name !== pending) await remove(path);
  }
  for (const { name, files, deleted } of segments)
    await keepOnly(segmentPath(directory, name), {
      ...files,
      [WORDS_FILE]: undefined,
      ...(deleted && { [deleted.file]: deleted }),
    });
}

/** Removes the files of a folder that are no key of `files`. */
async function keepOnly(folder: string, files: Readonly<Record<string, unknown>>): Promise<void> {
  for (const name of await readdir(folder)) if (!(name in files)) await remove(join(folder, name));
}

/** Removes a file or a folder. If it is in use, a later transaction removes it. */
async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true }).catch((error: unknown) => {
    if (!isInUse(error)) throw error;
  });
}
