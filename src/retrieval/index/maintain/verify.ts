/** Reads every byte of an index and compares it with what was written. */

import { open } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { systemProblem } from "../../../io/errors.ts";
import { codebookPath, type FileRecord, readManifest, segmentPath } from "../format/manifest.ts";
import { isSystemError, readAt } from "../format/storage.ts";

const READ_BYTES = 4_194_304;

/** A file of an index that is not as it was written. */
export interface Damage {
  readonly path: string;
  readonly problem: string;
}

/** All damaged files of the index in `directory`. Throws `InputError` where the manifest itself cannot be used. */
export async function verifyIndex(
  directory: string,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<Damage[]> {
  const { segments, codec } = await readManifest(directory);
  const folders = segments.map(({ name, files, deleted }) => ({
    folder: segmentPath(directory, name),
    files: deleted ? { ...files, [deleted.file]: deleted } : files,
  }));
  if (codec.name === "quantised")
    folders.push({ folder: codebookPath(directory, codec.codebook), files: codec.files });
  const damages: Damage[] = [];
  for (const { folder, files } of folders)
    for (const [file, record] of Object.entries(files)) {
      const path = join(folder, file);
      const problem = await problemOf(path, record, signal);
      if (problem) damages.push({ path, problem });
    }
  return damages;
}

async function problemOf(
  path: string,
  record: FileRecord,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  try {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      if (size !== record.bytes) return `${size} bytes instead of ${record.bytes}`;
      let checksum = 0;
      for (let at = 0; at < size; at += READ_BYTES) {
        signal?.throwIfAborted();
        checksum = crc32(await readAt(file, at, Math.min(READ_BYTES, size - at)), checksum);
      }
      return checksum === record.crc32 ? undefined : "its contents have changed";
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isSystemError(error)) return systemProblem(error);
    throw error;
  }
}
