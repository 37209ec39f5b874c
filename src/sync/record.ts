/**
 * The record of a folder that an index is kept in step with: which passages each file has, and of
 * which contents.
 *
 * It is written before the index changes and again after it. The first time, the files that are
 * going to change have no hash and all their passages, the old ones and the new ones. So whenever
 * the process is killed, the next synchronisation reads these files again and knows every id that
 * the index may have of them.
 */

import { z } from "zod";
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

/** The record of an index; undefined if there is none that this version can read. */
export async function readRecord(place: Pick<Place, "record">): Promise<FolderRecord | undefined> {
  const text = await place.record();
  if (text === undefined) return undefined;
  try {
    return folderRecord.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export const writeRecord = (place: Place, record: FolderRecord): Promise<void> =>
  place.writeRecord(JSON.stringify(record));

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
