/** Compares the files of a folder with the record of the last synchronisation. */

import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { type FilePatterns, filesOf } from "../documents/file/folder.ts";
import { openRegularFile } from "../documents/file/source-file.ts";
import { formatOf, isReadable } from "../documents/formats.ts";
import {
  type ReadDocumentsOptions,
  type SkippedFile,
  unknownFormat,
} from "../documents/read-documents.ts";
import { InputError, inputErrorFrom } from "../io/errors.ts";
import { chunksOf } from "../io/open-file.ts";
import type { FileRecord } from "./record.ts";

/**
 * A file that was modified so shortly before it is read can change again without another time of
 * modification: ext4 has 10 ms, FAT 2 s.
 */
const SETTLED_MS = 2_000;

/** A file of the folder. */
export interface FoundFile {
  readonly path: string;
  readonly name: string;
  readonly version: string | undefined;
  readonly hash: string;
}

export interface Comparison {
  /** Files that are new, or whose contents changed. */
  readonly changed: readonly FoundFile[];
  /** Files whose contents are as the record has them, with their present version. */
  readonly unchanged: ReadonlyMap<string, FileRecord>;
  /** Files of the record that the folder does not have any more. */
  readonly removed: readonly string[];
  readonly skipped: readonly SkippedFile[];
}

/**
 * Reads the contents of the files only whose size or time of modification differ.
 *
 * @param index the folder of the index, which may be in `folder`
 */
export async function compareFolder(
  folder: string,
  index: string,
  known: ReadonlyMap<string, FileRecord>,
  { signal, readers, ...patterns }: FilePatterns & Pick<ReadDocumentsOptions, "readers" | "signal">,
): Promise<Comparison> {
  const changed: FoundFile[] = [];
  const unchanged = new Map<string, FileRecord>();
  const skipped: SkippedFile[] = [];
  const seen = new Set<string>();
  for await (const { path, name, problem } of filesOf(folder, index, patterns)) {
    signal?.throwIfAborted();
    const hasFormat =
      formatOf(name, readers) !== undefined &&
      (known.has(name) || (await isReadable({ path, name }, readers)));
    const isUnknownFormat = !problem && !hasFormat;
    const found =
      problem ?? (isUnknownFormat ? unknownFormat(path, readers) : await look(path, name, known));
    if (!isUnknownFormat) seen.add(name);
    if (found instanceof InputError)
      skipped.push({
        ...{ file: name, isUnknownFormat, isPart: false },
        ...{ isDamage: !isUnknownFormat, problem: found },
      });
    else if (found.hash === known.get(name)?.hash)
      unchanged.set(name, { ...known.get(name)!, version: found.version });
    else changed.push(found);
  }
  // a folder that cannot be read may still have its files
  const unreadable = skipped.filter(({ isUnknownFormat }) => !isUnknownFormat);
  const isBelow = (name: string) => unreadable.some(({ file }) => name.startsWith(`${file}/`));
  const removed = [...known.keys()].filter((name) => !seen.has(name) && !isBelow(name));
  return { changed, unchanged, removed, skipped };
}

async function look(
  path: string,
  name: string,
  known: ReadonlyMap<string, FileRecord>,
): Promise<FoundFile | InputError> {
  try {
    const { size, mtimeNs, mtimeMs } = await stat(path, { bigint: true });
    const current = `${size} ${mtimeNs}`;
    const version = Date.now() - Number(mtimeMs) > SETTLED_MS ? current : undefined;
    const last = known.get(name);
    if (last?.hash !== undefined && last.version === current)
      return { path, name, version, hash: last.hash };
    return { path, name, version, hash: await hashOf(path) };
  } catch (error) {
    const remedy = "check its permissions";
    const problem = inputErrorFrom(error, { where: path, expected: "a file", remedy });
    if (problem instanceof InputError) return problem;
    throw problem;
  }
}

async function hashOf(path: string): Promise<string> {
  await using file = await openRegularFile(path);
  const hash = createHash("sha256");
  for await (const bytes of chunksOf(file, 0)) hash.update(bytes);
  return hash.digest("hex");
}
