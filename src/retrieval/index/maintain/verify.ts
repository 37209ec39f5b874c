/** Reads every byte of an index and compares checksums. */

import { open } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { systemProblem } from "../../../io/errors.ts";
import { checkPath } from "../../../options/arguments.ts";
import { SIGNAL } from "../../../options/option.ts";
import { resolveOptions } from "../../../options/resolve.ts";
import { codebookPath, type FileRecord, readManifest, segmentPath } from "../format/manifest.ts";
import { isSystemError, readAt } from "../format/storage.ts";

const READ_BYTES = 4_194_304;

/** A damaged file of an index. */
export interface Damage {
  readonly path: string;
  readonly problem: string;
}

/**
 * Reads all files of the index in `directory` and returns those that are damaged or missing.
 *
 * @param options `signal` stops the check
 * @throws {InputError} if there is no index or its manifest is damaged
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { ReAtt, verifyIndex } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const passages = [{ id: "1", title: "Oxygen", text: "Oxygen is a chemical element." }];
 * const directory = await mkdtemp(join(tmpdir(), "reatt-"));
 * await using _ = await model.index(passages, { directory });
 * console.log(await verifyIndex(directory)); // []
 * ```
 */
export async function verifyIndex(
  directory: string,
  options?: { readonly signal?: AbortSignal | undefined },
): Promise<Damage[]> {
  checkPath(directory, "directory");
  const { signal } = resolveOptions(SIGNAL, options);
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
