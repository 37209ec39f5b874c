/** Writes complete files of a segment, and finishes a segment with the checksums of its files. */

import { join } from "node:path";
import { openFile } from "../../../io/open-file.ts";
import { type RunningChecksum, runningChecksum } from "../blocks/blocks.ts";
import { writeAt } from "../blocks/storage.ts";
import type { FileRecord } from "./manifest.ts";

export const BLOCK_CHECKSUMS = "blocks.u32";

/**
 * Writes the parts one after the other, makes them durable, and returns the checksum of the file.
 */
export async function writeParts(
  path: string,
  parts: AsyncIterable<ArrayBufferView> | Iterable<ArrayBufferView>,
): Promise<RunningChecksum> {
  const checksum = runningChecksum();
  const file = await openFile(path, "w");
  try {
    for await (const part of parts) {
      const bytes = viewBytes(part);
      await writeAt(file, bytes, checksum.bytes);
      checksum.add(bytes);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return checksum;
}

/** The files of document ids and metadata, and of states: the data before the offsets. */
export const OPTIONAL_FILES = [
  "metadata.json",
  "metadata.u64",
  "states.bin",
  "states.u64",
] as const;

/**
 * The files without those of metadata, and of states, if they hold none. The transaction removes
 * them.
 */
export function withoutEmptyFiles(
  checksums: Readonly<Record<string, RunningChecksum>>,
): Record<string, RunningChecksum> {
  const { "metadata.json": metadata, "states.bin": states } = checksums;
  const empty = new Set<string>([
    ...(metadata?.bytes === 0 ? OPTIONAL_FILES.slice(0, 2) : []),
    ...(states?.bytes === 0 ? OPTIONAL_FILES.slice(2) : []),
  ]);
  return Object.fromEntries(Object.entries(checksums).filter(([name]) => !empty.has(name)));
}

/**
 * Writes the file of block checksums. Returns the records of all files, in the order of
 * `checksums`. The transaction makes their names durable.
 */
export async function completeSegment(
  path: string,
  checksums: Readonly<Record<string, RunningChecksum>>,
): Promise<Record<string, FileRecord>> {
  const blocks = Uint32Array.from(
    Object.values(checksums).flatMap((checksum) => checksum.blocks()),
  );
  const all = {
    ...checksums,
    [BLOCK_CHECKSUMS]: await writeParts(join(path, BLOCK_CHECKSUMS), [blocks]),
  };
  return Object.fromEntries(
    Object.entries(all).map(([name, checksum]) => [name, recordOf(checksum)]),
  );
}

export const recordOf = ({ bytes, crc32 }: RunningChecksum): FileRecord => ({ bytes, crc32 });

export const viewBytes = (data: ArrayBufferView): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
