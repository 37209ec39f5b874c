/** Reads every byte of an index and compares checksums. */

import { join } from "node:path";
import { crc32 } from "node:zlib";
import { isSystemError, isTooManyFiles, systemProblem } from "../../../io/errors.ts";
import { type OpenFile, openFile } from "../../../io/open-file.ts";
import {
  codebookPath,
  type FileRecord,
  type Manifest,
  readManifest,
  segmentPath,
} from "../format/manifest.ts";
import { readAt, readingErrorFrom } from "../format/storage.ts";

const READ_BYTES = 4_194_304;

/** A damaged file of an index. */
export interface Damage {
  /** The file. */
  readonly path: string;
  /** What is wrong with it. */
  readonly problem: string;
}

/** Reads all files of the index in `directory`. */
export async function verifyFolder(
  directory: string,
  signal: AbortSignal | undefined,
): Promise<Damage[]> {
  await using generation = await openGeneration(directory);
  const damages = [...generation.damages];
  for (const { path, file, record } of generation.files) {
    const problem = await problemOf(file, record, signal);
    if (problem) damages.push({ path, problem });
  }
  return damages;
}

interface RecordedFile {
  readonly path: string;
  readonly file: OpenFile;
  readonly record: FileRecord;
}

interface OpenGeneration extends AsyncDisposable {
  readonly files: readonly RecordedFile[];
  /** The files that cannot be opened. */
  readonly damages: readonly Damage[];
}

/**
 * Opens all files of the newest generation, which stay readable when a writer replaces it. If the
 * writer has removed files before they are opened, a newer manifest exists, and is read.
 */
async function openGeneration(directory: string): Promise<OpenGeneration> {
  for (;;) {
    const manifest = await readManifest(directory);
    const opened = await openFiles(directory, manifest);
    if (opened.damages.length === 0) return opened;
    try {
      const { generation } = await readManifest(directory);
      if (generation === manifest.generation) return opened;
    } catch (error) {
      await opened[Symbol.asyncDispose]();
      throw error;
    }
    await opened[Symbol.asyncDispose]();
  }
}

async function openFiles(directory: string, manifest: Manifest): Promise<OpenGeneration> {
  const files: RecordedFile[] = [];
  const damages: Damage[] = [];
  const dispose = async () => {
    await Promise.all(files.map(({ file }) => file.close()));
  };
  for (const [path, record] of filesOf(directory, manifest))
    try {
      files.push({ path, record, file: await openFile(path, "r") });
    } catch (error) {
      if (!isSystemError(error) || isTooManyFiles(error)) {
        await dispose();
        throw readingErrorFrom(error, path);
      }
      damages.push({ path, problem: systemProblem(error) });
    }
  return { files, damages, [Symbol.asyncDispose]: dispose };
}

function* filesOf(
  directory: string,
  { segments, codec }: Manifest,
): Generator<[path: string, FileRecord]> {
  for (const { name, files, deleted } of segments) {
    const folder = segmentPath(directory, name);
    for (const [file, record] of Object.entries(files)) yield [join(folder, file), record];
    if (deleted) yield [join(folder, deleted.file), deleted];
  }
  if (codec.name === "quantised")
    for (const [file, record] of Object.entries(codec.files))
      yield [join(codebookPath(directory, codec.codebook), file), record];
}

async function problemOf(
  file: OpenFile,
  record: FileRecord,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  try {
    const { size } = await file.stat();
    if (size !== record.bytes) return `${size} bytes instead of ${record.bytes}`;
    let checksum = 0;
    for (let at = 0; at < size; at += READ_BYTES) {
      signal?.throwIfAborted();
      checksum = crc32(await readAt(file, at, Math.min(READ_BYTES, size - at)), checksum);
    }
    return checksum === record.crc32 ? undefined : "its contents have changed";
  } catch (error) {
    if (isSystemError(error)) return systemProblem(error);
    throw error;
  }
}
