/**
 * The directory of a zip archive whose entries are stored as they are, which is how torch writes one. Entries are found,
 * not read: their data are then read by position. Handles zip64, which torch uses above 4 GB.
 *
 * Source: APPNOTE.TXT 6.3.10, https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT; its sections are in brackets.
 */

import { InputError } from "../io/errors.ts";
import type { InputFile } from "../io/input-file.ts";

const END_SIGNATURE = 0x06054b50; // [4.3.16] end of central directory
const END_BYTES = 22;
const MAX_COMMENT_BYTES = 0xffff;
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50; // [4.3.15]
const ZIP64_LOCATOR_BYTES = 20;
const ZIP64_END_SIGNATURE = 0x06064b50; // [4.3.14]
const ZIP64_END_BYTES = 56;
const ENTRY_SIGNATURE = 0x02014b50; // [4.3.12] an entry of the central directory
const ENTRY_BYTES = 46;
const LOCAL_SIGNATURE = 0x04034b50; // [4.3.7] local header, before the data
const LOCAL_BYTES = 30;
const ZIP64_EXTRA_ID = 0x0001; // [4.5.3]
/** Stands for a number that is in a zip64 record instead. */
const IN_ZIP64 = 0xffffffff;
const STORED = 0; // [4.4.5]
const ENCRYPTED = 1; // [4.4.4]
const MAX_DIRECTORY_BYTES = 25_000_000; // a checkpoint of 1,000 tensors has 90 kB

export interface ZipEntry {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Where its local header stands. */
  readonly headerPosition: number;
}

/** @throws {InputError} where the file is no zip, is truncated, or has an entry that is compressed or encrypted. */
export async function readZipDirectory(file: InputFile): Promise<Map<string, ZipEntry>> {
  const { position, size } = await findDirectory(file);
  if (size > MAX_DIRECTORY_BYTES)
    throw damaged(file, `a directory of at most ${MAX_DIRECTORY_BYTES} bytes`, `${size}`);
  const directory = await file.read(position, size);
  const entries = new Map<string, ZipEntry>();
  for (let at = 0; at < directory.length; ) {
    const { entry, bytes } = parseEntry(file, directory.subarray(at));
    if (entries.has(entry.name)) throw damaged(file, "one entry a name", `two of ${entry.name}`);
    entries.set(entry.name, entry);
    at += bytes;
  }
  return entries;
}

/** Where the data of an entry begin. */
export async function findData(file: InputFile, entry: ZipEntry): Promise<number> {
  const header = await file.read(entry.headerPosition, LOCAL_BYTES);
  if (header.readUInt32LE(0) !== LOCAL_SIGNATURE)
    throw damaged(file, `a local header of ${entry.name}`, "none");
  return entry.headerPosition + LOCAL_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
}

async function findDirectory(file: InputFile): Promise<{ position: number; size: number }> {
  const tailBytes = Math.min(file.size, END_BYTES + MAX_COMMENT_BYTES);
  const tail = await file.read(file.size - tailBytes, tailBytes);
  let at = tail.length - END_BYTES;
  while (at >= 0 && !isEnd(tail.subarray(at))) at--;
  if (at < 0) throw damaged(file, "the end of a zip archive", "none");
  const size = tail.readUInt32LE(at + 12);
  const position = tail.readUInt32LE(at + 16);
  if (size !== IN_ZIP64 && position !== IN_ZIP64) return { position, size };
  return findZip64Directory(file, file.size - tail.length + at);
}

/** The record ends with a comment that ends with the file. */
function isEnd(bytes: Buffer): boolean {
  return (
    bytes.readUInt32LE(0) === END_SIGNATURE && END_BYTES + bytes.readUInt16LE(20) === bytes.length
  );
}

async function findZip64Directory(
  file: InputFile,
  end: number,
): Promise<{ position: number; size: number }> {
  const locator = await file.read(Math.max(0, end - ZIP64_LOCATOR_BYTES), ZIP64_LOCATOR_BYTES);
  if (locator.readUInt32LE(0) !== ZIP64_LOCATOR_SIGNATURE)
    throw damaged(file, "a zip64 locator", "none");
  const record = await file.read(readUInt64(locator, 8), ZIP64_END_BYTES);
  if (record.readUInt32LE(0) !== ZIP64_END_SIGNATURE)
    throw damaged(file, "a zip64 end record", "none");
  return { size: readUInt64(record, 40), position: readUInt64(record, 48) };
}

function parseEntry(file: InputFile, bytes: Buffer): { entry: ZipEntry; bytes: number } {
  if (bytes.length < ENTRY_BYTES || bytes.readUInt32LE(0) !== ENTRY_SIGNATURE) {
    throw damaged(file, "an entry of the zip directory", "none");
  }
  const extraStart = ENTRY_BYTES + bytes.readUInt16LE(28);
  const extraEnd = extraStart + bytes.readUInt16LE(30);
  const end = extraEnd + bytes.readUInt16LE(32);
  if (end > bytes.length)
    throw damaged(file, "a whole entry in the zip directory", "the beginning of one");
  const name = bytes.toString("utf8", ENTRY_BYTES, extraStart);
  if (bytes.readUInt16LE(10) !== STORED || (bytes.readUInt16LE(8) & ENCRYPTED) !== 0) {
    throw damaged(file, `${name} stored as it is`, "it compressed or encrypted");
  }
  const extra = zip64Extra(bytes.subarray(extraStart, extraEnd));
  const [size, , headerPosition] = [24, 20, 42].map((at) => {
    const number = bytes.readUInt32LE(at);
    return number === IN_ZIP64 ? extra.shift() : number;
  });
  if (size === undefined || headerPosition === undefined)
    throw damaged(file, `the zip64 size of ${name}`, "none");
  if (headerPosition + LOCAL_BYTES + size > file.size)
    throw damaged(file, `${size} bytes of ${name}`, "fewer");
  return { entry: { name, size, headerPosition }, bytes: end };
}

/** The numbers of the zip64 extra field: in this order size, compressed size, position, each only if it did not fit. */
function zip64Extra(extra: Buffer): number[] {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    const field = extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2));
    if (extra.readUInt16LE(at) !== ZIP64_EXTRA_ID) continue;
    return Array.from({ length: Math.floor(field.length / 8) }, (_, i) => readUInt64(field, 8 * i));
  }
  return [];
}

/** Above 2 ** 53 not exact, where no file reaches. */
function readUInt64(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at));
}

function damaged(file: InputFile, expected: string, got: string): InputError {
  return new InputError({
    where: file.path,
    expected,
    got,
    remedy: "the file is truncated or damaged, or was not written by torch.save; fetch it again",
  });
}
