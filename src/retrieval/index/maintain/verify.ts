/** Reads every byte of an index and compares checksums. */

import { join } from "node:path";
import { crc32 } from "node:zlib";
import {
  InputError,
  isMissing,
  isSystemError,
  isTooManyFiles,
  systemProblem,
} from "../../../io/errors.ts";
import { type OpenFile, openFile } from "../../../io/open-file.ts";
import { readAt, readingErrorFrom } from "../blocks/storage.ts";
import {
  codebookPath,
  type FileRecord,
  type Manifest,
  readManifest,
  type SegmentRecord,
  segmentPath,
} from "../format/manifest.ts";
import { readWords, WORDS_FILE } from "../format/words-file.ts";

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
  for (const { path, file, problemOf } of generation.files) {
    const problem = await problemOf(file, signal);
    if (problem) damages.push({ path, problem });
  }
  return damages;
}

/** A file of an index, and how it is checked. */
interface ExpectedFile {
  readonly path: string;
  /** What is wrong with it; undefined if nothing is. */
  problemOf(file: OpenFile, signal: AbortSignal | undefined): Promise<string | undefined>;
  /** Whether the index is complete without it. */
  readonly isOptional?: boolean;
}

interface OpenedFile extends ExpectedFile {
  readonly file: OpenFile;
}

interface OpenGeneration extends AsyncDisposable {
  readonly files: readonly OpenedFile[];
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
  const files: OpenedFile[] = [];
  const damages: Damage[] = [];
  const dispose = async () => {
    await Promise.all(files.map(({ file }) => file.close()));
  };
  for (const expected of filesOf(directory, manifest)) {
    const { path, isOptional } = expected;
    try {
      files.push({ ...expected, file: await openFile(path, "r") });
    } catch (error) {
      if (isOptional && isMissing(error)) continue;
      if (!isSystemError(error) || isTooManyFiles(error)) {
        await dispose();
        throw readingErrorFrom(error, path);
      }
      damages.push({ path, problem: systemProblem(error) });
    }
  }
  return { files, damages, [Symbol.asyncDispose]: dispose };
}

function* filesOf(directory: string, { segments, codec }: Manifest): Generator<ExpectedFile, void> {
  for (const segment of segments) {
    const { name, files, deleted } = segment;
    const folder = segmentPath(directory, name);
    yield* recordedFiles(folder, { ...files, ...(deleted && { [deleted.file]: deleted }) });
    yield wordsFile(join(folder, WORDS_FILE), segment);
  }
  if (codec.name === "quantised")
    yield* recordedFiles(codebookPath(directory, codec.codebook), codec.files);
}

function* recordedFiles(
  folder: string,
  files: Readonly<Record<string, FileRecord>>,
): Generator<ExpectedFile, void> {
  for (const [name, record] of Object.entries(files))
    yield {
      path: join(folder, name),
      problemOf: (file, signal) => recordedProblem(file, record, signal),
    };
}

/** The words of a segment, which have checksums of their own. */
const wordsFile = (path: string, segment: SegmentRecord): ExpectedFile => ({
  path,
  isOptional: true,
  async problemOf(file, signal) {
    try {
      await (await readWords(path, file, segment))?.check(signal);
    } catch (error) {
      if (error instanceof InputError) return error.got;
      throw error;
    }
    return undefined;
  },
});

async function recordedProblem(
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
