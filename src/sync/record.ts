/**
 * The record of a folder that an index is kept in step with, or of documents that are values: which
 * passages each file or document has, and of which contents.
 *
 * It is written before the index changes and again after it. The first time, the files that are
 * going to change have no hash and all their passages, the old ones and the new ones. So whenever
 * the process is killed, the next synchronisation reads these files again and knows every id that
 * the index may have of them.
 */

import { join } from "node:path";
import { crc32 } from "node:zlib";
import { z } from "zod";
import type { SkippedFile } from "../documents/read-documents.ts";
import { InputError } from "../io/errors.ts";
import type { Place } from "../retrieval/places/place.ts";

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
  /** Version 1 has no checksum, and only version 3 no folder. */
  version: z.literal([1, 2, 3]),
  /** The folder, as an absolute path; undefined for documents that are values, with their ids. */
  folder: z.string().optional(),
  /** The options that the files were read with. */
  splitting,
  /** Which files are read. */
  include: patterns,
  ignore: patterns,
  /** Files that could not be read, or only in part, at the last synchronisation, and why. */
  failed: z.record(z.string(), z.string()).default({}),
  /** Of the index after the last synchronisation. Another one may have changed it since. */
  generation: z.number(),
  files: z.record(z.string(), fileRecord),
});

export type Splitting = z.infer<typeof splitting>;
export type FileRecord = z.infer<typeof fileRecord>;
export type FolderRecord = z.infer<typeof folderRecord>;

/**
 * The record of an index; undefined if there is none.
 *
 * @throws {InputError} if it is damaged: without it, nothing says which passages may be deleted,
 *   and which files the user left out
 */
export async function readRecord(
  place: Pick<Place, "address" | "folder" | "name" | "record">,
): Promise<FolderRecord | undefined> {
  const text = await place.record();
  if (text === undefined) return undefined;
  const { checksum, ...rest } = parseObject(text) ?? {};
  const { data } = folderRecord.safeParse(rest);
  const isWhole = data?.version === 1 ? checksum === undefined : checksum === checksumOf(rest);
  if (data && isWhole) return data;
  throw damaged(place, rest);
}

export const writeRecord = (
  place: Place,
  given: Omit<FolderRecord, "format" | "version">,
): Promise<void> => {
  const version = given.folder === undefined ? 3 : 2;
  const record: FolderRecord = { format: "reatt-sync", version, ...given };
  return place.writeRecord(JSON.stringify({ ...record, checksum: checksumOf(record) }));
};

/** Of the text, which has the order of the fields that it was written in. */
const checksumOf = (record: object): number => crc32(JSON.stringify(record));

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function damaged(
  { address, folder, name }: Pick<Place, "address" | "folder" | "name">,
  { format, version }: Record<string, unknown>,
): InputError {
  const isNewer = format === "reatt-sync" && typeof version === "number" && version > 3;
  return new InputError({
    code: "ERR_REATT_DAMAGED_INDEX",
    where: folder ? join(address, "sync", "record.json") : `the record of ${name}`,
    expected: "the record of a folder with its own checksum, of version 1 to 3",
    got: isNewer ? `version ${version}` : "damaged contents",
    remedy: isNewer
      ? "use a newer version of reatt"
      : "restore it from a copy, or build the index again with --replace",
  });
}

/** Why files, or parts of them, could not be read: of each file the first problem, and how many. */
export function failuresOf(skipped: readonly SkippedFile[]): Record<string, string> {
  const counts = new Map<string, number>();
  const failures: Record<string, string> = {};
  for (const { file, problem, isDamage } of skipped) {
    if (!isDamage) continue;
    const others = counts.get(file) ?? 0;
    counts.set(file, others + 1);
    failures[file] =
      others === 0 ? problem.message : `${failures[file]!.replace(MORE, "")} (and ${others} more)`;
  }
  return failures;
}

const MORE = / \(and \d+ more\)$/;

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
