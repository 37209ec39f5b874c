/**
 * The cache folder of the Hugging Face hub, which other programs share.
 *
 *     models--ORG--NAME/
 *       blobs/HASH                  a file by its SHA-256, or the SHA-1 of git if it is small
 *       refs/REVISION               the commit of a branch or tag
 *       snapshots/COMMIT/FILE       a link to the blob
 *     .locks/models--ORG--NAME/     locks of a download
 *
 * Source: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
 */

import { copyFile, mkdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { createDirectory } from "../io/create-directory.ts";
import { isMissing, isSystemError } from "../io/errors.ts";
import { replaceFile } from "../io/replace-file.ts";
import { isComplete } from "./model-files.ts";
import { type HubModel, isCommit } from "./model-name.ts";

const folderName = (repository: string): string => `models--${repository.replace("/", "--")}`;

/** The places of a repository in a cache. */
export interface RepositoryCache {
  readonly blob: (hash: string) => string;
  readonly ref: (revision: string) => string;
  readonly snapshot: (commit: string) => string;
  readonly locks: string;
}

export function repositoryCache(cache: string, repository: string): RepositoryCache {
  const folder = join(cache, folderName(repository));
  return {
    blob: (hash) => join(folder, "blobs", hash),
    ref: (revision) => join(folder, "refs", revision),
    snapshot: (commit) => join(folder, "snapshots", commit),
    locks: join(cache, ".locks", folderName(repository)),
  };
}

/** `ORG/NAME` for the folder of a repository of models, and undefined for any other folder. */
export function repositoryOf(folder: string): string | undefined {
  const [, organisation, name] = /^models--(.+?)--(.+)$/.exec(basename(folder)) ?? [];
  return name && `${organisation}/${name}`;
}

/** `ORG/NAME@COMMIT` for the folder of a snapshot, and undefined for any other folder. */
export function nameOfSnapshot(folder: string): string | undefined {
  const repository = repositoryOf(dirname(dirname(folder)));
  const isSnapshot = basename(dirname(folder)) === "snapshots";
  return repository && isSnapshot ? `${repository}@${basename(folder)}` : undefined;
}

/** The folder of a model whose files are all in the cache, or undefined. */
export async function cachedSnapshot(
  cache: RepositoryCache,
  { revision }: HubModel,
): Promise<string | undefined> {
  const commit = isCommit(revision) ? revision : await readRef(cache, revision);
  if (commit === undefined) return undefined;
  const folder = cache.snapshot(commit);
  return (await isComplete(folder)) ? folder : undefined;
}

async function readRef(cache: RepositoryCache, revision: string): Promise<string | undefined> {
  try {
    const commit = (await readFile(cache.ref(revision), "utf8")).trim();
    return isCommit(commit) ? commit : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Records the commit of a branch or tag. */
export async function writeRef(
  cache: RepositoryCache,
  revision: string,
  commit: string,
): Promise<void> {
  if (revision === commit || (await readRef(cache, revision)) === commit) return;
  await createDirectory(dirname(cache.ref(revision)));
  await replaceFile(cache.ref(revision), (file) => file.writeFile(commit));
}

/** Puts a blob into a snapshot: as a link, or as a copy where the system allows no links. */
export async function linkBlob(blob: string, path: string): Promise<void> {
  const temporary = `${path}.new`;
  await mkdir(dirname(path), { recursive: true });
  await rm(temporary, { force: true });
  try {
    await symlink(relative(dirname(path), blob), temporary);
  } catch (error) {
    if (!isSystemError(error) || error.code !== "EPERM") throw error; // Windows
    await copyFile(blob, temporary);
  }
  await rename(temporary, path);
}
