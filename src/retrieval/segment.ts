/** Reads one segment of an index, by position. The layout is in manifest.ts. */

import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { InputError } from "../errors.ts";
import type { Passage } from "../text/passage.ts";
import { BLOCK_BYTES, type CheckedFile, checkedFile } from "./blocks.ts";
import { findOrdinals } from "./ids.ts";
import type { SegmentRecord } from "./manifest.ts";
import { readAt } from "./storage.ts";

export const BLOCK_CHECKSUMS = "blocks.u32";

const OFFSET_ROW_BYTES = 16; // two uint64
const ID_ROW_BYTES = 16;

export interface Segment extends AsyncDisposable {
  readonly record: SegmentRecord;
  /** The first token of each of `count` passages from `first` on, and the one after the last: [count + 1]. */
  tokenStarts(first: number, count: number): Promise<number[]>;
  /** [tokens, dimension] of `count` tokens from `first` on. */
  keys(first: number, count: number): Promise<Float32Array>;
  passage(ordinal: number): Promise<Passage>;
  /** The ordinal of the passage with this id, if the segment has one. */
  find(id: string): Promise<number | undefined>;
}

/**
 * Opens the files of a segment and checks their sizes; contents are checked as they are read.
 * Throws `InputError` where a file is missing or has another size.
 */
export async function openSegment(path: string, record: SegmentRecord, dimension: number): Promise<Segment> {
  const handles: FileHandle[] = [];
  const dispose = async () => {
    await Promise.all(handles.map((handle) => handle.close()));
  };
  try {
    const files = await openFiles(path, record, handles);
    return { ...readers(files, dimension), record, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function readers(
  files: (name: string) => CheckedFile,
  dimension: number,
): Pick<Segment, "tokenStarts" | "keys" | "passage" | "find"> {
  const [passages, offsets, ids, keys] = ["passages.jsonl", "offsets.u64", "ids.u64", "keys.f32"].map(
    files,
  ) as [CheckedFile, CheckedFile, CheckedFile, CheckedFile];
  const offsetRows = async (first: number, count: number) =>
    bigIntegers(await offsets.read(first * OFFSET_ROW_BYTES, count * OFFSET_ROW_BYTES));
  const idRows = async (first: number, count: number) =>
    bigIntegers(await ids.read(first * ID_ROW_BYTES, count * ID_ROW_BYTES));
  const passage = async (ordinal: number): Promise<Passage> => {
    const rows = await offsetRows(ordinal, 2);
    const start = Number(rows[1]);
    return JSON.parse(Buffer.from(await passages.read(start, Number(rows[3]) - start)).toString());
  };
  return {
    async tokenStarts(first, count) {
      const rows = await offsetRows(first, count + 1);
      return Array.from({ length: count + 1 }, (_, i) => Number(rows[2 * i]));
    },
    async keys(first, count) {
      const data = await keys.read(first * dimension * 4, count * dimension * 4);
      return new Float32Array(data.buffer as ArrayBuffer, data.byteOffset, count * dimension);
    },
    passage,
    async find(id) {
      for (const ordinal of await findOrdinals(id, ids.bytes / ID_ROW_BYTES, idRows))
        if ((await passage(ordinal)).id === id) return ordinal;
      return undefined;
    },
  };
}

async function openFiles(
  path: string,
  record: SegmentRecord,
  handles: FileHandle[],
): Promise<(name: string) => CheckedFile> {
  const opened = new Map<string, FileHandle>();
  for (const [name, { bytes }] of Object.entries(record.files)) {
    const file = await open(join(path, name), "r");
    handles.push(file);
    opened.set(name, file);
    const { size } = await file.stat();
    if (size !== bytes) throw unusable(join(path, name), `${bytes} bytes`, `${size} bytes`);
  }
  const checksums = await readChecksums(path, record, opened.get(BLOCK_CHECKSUMS));
  return (name) => {
    const file = opened.get(name);
    if (!file) throw unusable(join(path, name), "the file in the manifest", "a manifest without it");
    return checkedFile(join(path, name), file, record.files[name]!.bytes, checksums.get(name)!);
  };
}

/** The checksums of every file's blocks. They are small (a 4,000th of the files) and stay in memory. */
async function readChecksums(
  path: string,
  record: SegmentRecord,
  file: FileHandle | undefined,
): Promise<Map<string, Uint32Array>> {
  const { bytes, crc32: expected } = record.files[BLOCK_CHECKSUMS] ?? { bytes: 0, crc32: 0 };
  const data = file ? await readAt(file, 0, bytes) : new Uint8Array();
  if (crc32(data) !== expected)
    throw unusable(join(path, BLOCK_CHECKSUMS), "the bytes that were written", "others");
  const all = new Uint32Array(data.buffer as ArrayBuffer, 0, bytes / 4);
  const checksums = new Map<string, Uint32Array>();
  let start = 0;
  for (const [name, { bytes }] of Object.entries(record.files)) {
    if (name === BLOCK_CHECKSUMS) continue;
    const count = Math.ceil(bytes / BLOCK_BYTES);
    checksums.set(name, all.subarray(start, start + count));
    start += count;
  }
  return checksums;
}

const bigIntegers = (data: Uint8Array): BigUint64Array =>
  new BigUint64Array(data.buffer as ArrayBuffer, data.byteOffset, data.length / 8);

const unusable = (where: string, expected: string, got: string): InputError =>
  new InputError({ where, expected, got, remedy: "restore the file from a copy, or build the index again" });
