/**
 * The record of a folder that an index is kept in step with: which passages each file has, and of
 * which contents.
 *
 * It is written before the index changes and again after it. The first time, the files that are
 * going to change have no hash and all their passages, the old ones and the new ones. So whenever
 * the process is killed, the next synchronisation reads these files again and knows every id that
 * the index may have of them.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { createOutputDirectory } from "../io/create-directory.ts";
import { inputErrorFrom, isSystemError } from "../io/errors.ts";
import { replaceFile } from "../io/replace-file.ts";

const fileRecord = z.strictObject({
  /** Size and time of modification in nanoseconds. Undefined: the contents must be compared. */
  version: z.string().optional(),
  /** SHA-256 of the contents. Undefined: the index does not have the passages for certain. */
  hash: z.string().optional(),
  ids: z.array(z.string()).readonly(),
});

const splitting = z.strictObject({
  passageWords: z.number(),
  overlapWords: z.number(),
  maxPassageTokens: z.number(),
  encoding: z.string().optional(),
  tableHeader: z.enum(["auto", "yes", "no"]).default("auto"),
});

const patterns = z.array(z.string()).readonly().optional();

const folderRecord = z.strictObject({
  format: z.literal("reatt-sync"),
  version: z.literal(1),
  /** The folder, as an absolute path. */
  folder: z.string(),
  /** The options that the files were read with. */
  splitting,
  /** Which files are read. */
  include: patterns,
  ignore: patterns,
  /** Files that could not be read at the last synchronisation, and why. */
  failed: z.record(z.string(), z.string()).default({}),
  /** Of the index after the last synchronisation. Another one may have changed it since. */
  generation: z.number(),
  files: z.record(z.string(), fileRecord),
});

export type Splitting = z.infer<typeof splitting>;
export type FileRecord = z.infer<typeof fileRecord>;
export type FolderRecord = z.infer<typeof folderRecord>;

/** The folder of the record and of the lock of a synchronisation. */
export const syncFolder = (directory: string): string => join(directory, "sync");

const recordPath = (directory: string): string => join(syncFolder(directory), "record.json");

/** The record of an index; undefined if there is none that this version can read. */
export async function readRecord(directory: string): Promise<FolderRecord | undefined> {
  try {
    return parseRecord(await readFile(recordPath(directory), "utf8"));
  } catch (error) {
    if (isSystemError(error) && error.code === "ENOENT") return undefined;
    throw inputErrorFrom(error, {
      where: recordPath(directory),
      expected: "to be able to read the record of the folder",
      remedy: "check the disk and the permissions of the file",
    });
  }
}

/** Undefined if this version cannot read it. */
export function parseRecord(text: string): FolderRecord | undefined {
  try {
    return folderRecord.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export async function writeRecord(directory: string, record: FolderRecord): Promise<void> {
  await createOutputDirectory(syncFolder(directory));
  await replaceFile(recordPath(directory), (file) => file.writeFile(JSON.stringify(record)));
}

export const splittingOf = ({
  passageWords,
  overlapWords,
  maxPassageTokens,
  encoding,
  tableHeader,
}: Splitting): Splitting => ({
  passageWords,
  overlapWords,
  maxPassageTokens,
  ...(encoding !== undefined && { encoding }),
  tableHeader,
});
