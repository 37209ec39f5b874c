/**
 * Which folder is an index of reatt, by what it contains and never by its name. Every writer asks
 * this before it touches a folder, and a reader of documents leaves such a folder out.
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "./errors.ts";
import { readSmallFile } from "./small-file.ts";

const MAX_MANIFEST_BYTES = 64 * 2 ** 20; // each segment takes 1 kB

/**
 * `index`: the manifest says so. `newer`: so it does, of a version that this one does not know.
 * `stopped`: there is no manifest that can be read, and all else is of an index: a build that was
 * stopped, or an index whose manifest is damaged. `free`: empty, or no folder. `foreign`: all
 * others.
 */
export type FolderKind = "index" | "newer" | "stopped" | "free" | "foreign";

/** The files of a segment, whole or while it is built. */
const SEGMENT_FILE = RegExp(
  String.raw`^(passages\.deflate|metadata\.json|\w+\.u64|(states|codes|lists|words)\.bin|` +
    String.raw`(keys|sample)\.f32|keys\.i8|blocks\.u32|deleted-\d{6,}\.bits|` +
    String.raw`journal|window)(\.new)?$`,
);
const CODEBOOK_FILE =
  /^((axes|centroids|long|short|ratios|sample)\.f32|parts\.u(8|16)|journal)(\.new)?$/;
const SEGMENT = /^\d{6,}(\.stage|\.added)?$/;
const CODEBOOK = /^\d{6,}$/;
const LOCK = /^writer\..*\.lock/;

/** Whether a name in `segments` is one that an index gives. */
export const isSegmentName = (name: string): boolean => SEGMENT.test(name);
/** Whether a name in `codebooks` is one that an index gives. */
export const isCodebookName = (name: string): boolean => CODEBOOK.test(name);
/** Whether a name in a segment or a codebook is one that an index gives. */
export const isIndexFile = (name: string): boolean =>
  SEGMENT_FILE.test(name) || CODEBOOK_FILE.test(name);

/** What kind of folder `directory` is. Throws errors of the system, but not that it is missing. */
export async function kindOfFolder(directory: string): Promise<FolderKind> {
  const names = await namesIn(directory);
  const others = names.filter((name) => !LOCK.test(name) && name !== "sync");
  const manifest = names.includes("index.json") ? await readManifest(directory) : undefined;
  if (manifest?.format === "reatt-index") return manifest.version === 1 ? "index" : "newer";
  if (names.includes("sync") && !(await holdsSync(join(directory, "sync")))) return "foreign";
  if (others.length === 0) return "free";
  if (manifest) return "foreign"; // of another program
  return (await holdsIndex(directory, others)) ? "stopped" : "foreign";
}

/** The manifest; undefined if it is damaged. */
async function readManifest(
  directory: string,
): Promise<{ readonly format?: unknown; readonly version?: unknown } | undefined> {
  const bytes = await readSmallFile(join(directory, "index.json"), MAX_MANIFEST_BYTES);
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return undefined;
  }
}

/** Whether all that is in `directory` is of an index. */
async function holdsIndex(directory: string, names: readonly string[]): Promise<boolean> {
  if (!names.includes("segments")) return false;
  const known = ["index.json", "index.json.new", "segments", "codebooks"];
  if (!names.every((name) => known.includes(name))) return false;
  return (
    (await holdsOnly(join(directory, "segments"), SEGMENT, SEGMENT_FILE)) &&
    (await holdsOnly(join(directory, "codebooks"), CODEBOOK, CODEBOOK_FILE))
  );
}

async function holdsOnly(parent: string, folder: RegExp, file: RegExp): Promise<boolean> {
  for (const name of await namesIn(parent)) {
    if (!folder.test(name)) return false;
    const files = await namesIn(join(parent, name));
    if (!files.every((one) => file.test(one))) return false;
    const window = files.includes("window") ? await namesIn(join(parent, name, "window")) : [];
    if (!window.every((one) => SEGMENT_FILE.test(one))) return false;
  }
  return true;
}

const holdsSync = async (folder: string): Promise<boolean> =>
  (await namesIn(folder)).every((name) => LOCK.test(name) || /^record\.json(\.new)?$/.test(name));

/** The names in a folder: none if it is missing, and of a file its own, which no index has. */
async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return [];
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return ["."];
    throw error;
  });
}
