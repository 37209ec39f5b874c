/** Reads a segment of an index by position. manifest.ts has the layout. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { isMissing } from "../../../io/errors.ts";
import { type OpenFile, openFile } from "../../../io/open-file.ts";
import type { Passage } from "../../../text/passage.ts";
import type { KeyDecoder } from "../../codec/codec.ts";
import { type Awaitable, chain } from "../blocks/awaitable.ts";
import { BLOCK_BYTES, type BlockCache, type CheckedFile, checkedFile } from "../blocks/blocks.ts";
import { integers } from "../blocks/integers.ts";
import { openRows, type Rows } from "../blocks/rows.ts";
import {
  type SharedFile,
  type SharedMemory,
  SharedReader,
  shareFile,
} from "../blocks/shared-blocks.ts";
import { damagedFile, readAt } from "../blocks/storage.ts";
import { findOrdinals } from "./id-hashes.ts";
import type { SegmentRecord } from "./manifest.ts";
import { BLOCK_CHECKSUMS } from "./new-files.ts";
import { unpackFields, unpackPassage } from "./packed-passage.ts";
import { readWords, type SegmentWords, WORDS_FILE } from "./words-file.ts";

const ROW_BYTES = 16; // two uint64

/** Where the passage with this id is among segments; undefined if none has it, or it is deleted. */
export async function findAlive(
  segments: readonly Segment[],
  id: string,
): Promise<{ readonly position: number; readonly ordinal: number } | undefined> {
  for (const [position, segment] of segments.entries()) {
    const ordinal = await segment.find(id);
    if (ordinal !== undefined && segment.isAlive(ordinal)) return { position, ordinal };
  }
  return undefined;
}

export interface Segment extends AsyncDisposable {
  readonly record: SegmentRecord;
  isAlive(ordinal: number): boolean;
  /**
   * The first token of each of `count` passages from `first`, and the end of the last:
   * [count + 1].
   */
  tokenStarts(first: number, count: number): Awaitable<number[]>;
  /** The encoded keys of `count` passages from `first`. */
  codes(first: number, count: number): Awaitable<Uint8Array>;
  /** The decoded keys of `count` passages from `first`: [tokens, dimension]. */
  keys(first: number, count: number): Promise<Float32Array>;
  /** The stored form of a passage (packed-passage.ts). */
  packedPassage(ordinal: number): Promise<Uint8Array>;
  /** The stored document id and metadata of each of `count` passages from `first`. */
  packedFields(first: number, count: number): Promise<Uint8Array[]>;
  /** The packed states of a passage (packed-states.ts); no bytes if the index holds none. */
  packedStates(ordinal: number): Promise<Uint8Array>;
  passage(ordinal: number): Promise<Passage>;
  /** The ordinal of the passage with this id; undefined if the segment has none. */
  find(id: string): Promise<number | undefined>;
  /** The words of the segment; undefined if it has none that can be used (words-file.ts). */
  words(): Promise<SegmentWords | undefined>;
  /** Of a compressed index that is opened with shared memory. */
  readonly compressed?: Compressed | undefined;
}

export interface SegmentOptions {
  readonly decoder: KeyDecoder;
  /** Keeps blocks in memory. Without it, every read goes to the disk. */
  readonly cache?: BlockCache | undefined;
  /** Keeps blocks of codes and lists in memory that threads share. */
  readonly shared?: SharedMemory | undefined;
}

/**
 * Opens the files of a segment and checks their sizes. Contents are checked when they are read. A
 * missing file causes the error of the system.
 *
 * @throws {InputError} if a file has another size
 */
export async function openSegment(
  path: string,
  record: SegmentRecord,
  { decoder, cache, shared }: SegmentOptions,
): Promise<Segment> {
  const handles: OpenFile[] = [];
  const dispose = async () => {
    await Promise.all(handles.map((handle) => handle.close()));
  };
  try {
    // before the other files, so that one that is removed with them is not taken for missing
    const words = await openWords(path, handles);
    const opened = await openFiles(path, record, handles);
    const compressed = shared && openCompressed(shared, shareFiles(opened));
    // the cache would treat a second `over` as another file
    const known = new Map<string, CheckedFile>(Object.entries(compressed?.readers ?? {}));
    const uncached = (name: string): CheckedFile => {
      const { path, handle, bytes, checksums } = opened(name);
      return checkedFile(path, handle, bytes, checksums);
    };
    const files = (name: string): CheckedFile => {
      const file = known.get(name) ?? cache?.over(uncached(name)) ?? uncached(name);
      known.set(name, file);
      return file;
    };
    const deleted = await readDeleted(path, record);
    const isAlive = (ordinal: number) => !((deleted[ordinal >>> 3] ?? 0) & (1 << (ordinal & 7)));
    return {
      ...readers(files, decoder, record),
      packedStates: statesReader(files, uncached, record),
      words: async () => words && readWords(join(path, WORDS_FILE), words, record),
      ...(compressed && { compressed }),
      record,
      isAlive,
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** The path of a file of a segment in its index, for errors. */
export const fileOf = ({ record }: Pick<Segment, "record">, name: string): string =>
  `segments/${record.name}/${name}`;

type Files = (name: string) => CheckedFile;

type SegmentReaders = Omit<
  Segment,
  "record" | "isAlive" | "packedStates" | "words" | "compressed" | typeof Symbol.asyncDispose
>;

function readers(files: Files, decoder: KeyDecoder, record: SegmentRecord): SegmentReaders {
  const hasMetadata = "metadata.json" in record.files;
  const passages = files("passages.deflate");
  const offsets = files("offsets.u64");
  const ids = files("ids.u64");
  const keys = files(decoder.file);
  const tokenStarts: Segment["tokenStarts"] = (first, count) =>
    chain(offsets.read(first * ROW_BYTES, (count + 1) * ROW_BYTES), (bytes) => {
      const starts = integers(bytes);
      return Array.from({ length: count + 1 }, (_, i) => starts[2 * i]!);
    });
  const codes: Segment["codes"] = (first, count) =>
    chain(codeBounds(files, decoder, tokenStarts, first, count), ([start, end]) =>
      keys.read(start, end - start),
    );
  const packedPassage = async (ordinal: number): Promise<Uint8Array> => {
    const bounds = integers(await offsets.read(ordinal * ROW_BYTES, 2 * ROW_BYTES));
    return passages.read(bounds[1]!, bounds[3]! - bounds[1]!);
  };
  const packedFields = async (first: number, count: number): Promise<Uint8Array[]> => {
    if (!hasMetadata) return Array.from({ length: count }, () => new Uint8Array());
    const starts = integers(await files("metadata.u64").read(8 * first, 8 * (count + 1)));
    const start = starts[0]!;
    const bytes = await files("metadata.json").read(start, starts[count]! - start);
    return Array.from({ length: count }, (_, i) =>
      bytes.subarray(starts[i]! - start, starts[i + 1]! - start),
    );
  };
  const passage = async (ordinal: number): Promise<Passage> => {
    const [packed, [fields]] = await Promise.all([
      packedPassage(ordinal),
      packedFields(ordinal, 1),
    ]);
    return {
      ...unpackPassage(packed, passages.path),
      ...(hasMetadata && unpackFields(fields!, files("metadata.json").path)),
    };
  };
  return {
    tokenStarts,
    codes,
    keys: async (first, count) => decoder.decode(await codes(first, count)),
    packedPassage,
    packedFields,
    passage,
    async find(id) {
      const idRows = async (first: number, count: number) =>
        bigIntegers(await ids.read(first * ROW_BYTES, count * ROW_BYTES));
      for (const ordinal of await findOrdinals(id, ids.bytes / ROW_BYTES, idRows))
        if ((await passage(ordinal)).id === id) return ordinal;
      return undefined;
    },
  };
}

export const COMPRESSED_FILES = ["codes.u64", "codes.bin", "lists.u64", "lists.bin"] as const;

/** The codes of the keys of a segment, and the lists of the centroids, through shared memory. */
export interface Compressed {
  /** The codes of each passage. */
  readonly codes: Rows;
  /** For each centroid the encoded list of the passages with one of its keys (lists.ts). */
  readonly lists: Rows;
  readonly files: CompressedFiles;
  readonly readers: Readonly<Record<(typeof COMPRESSED_FILES)[number], SharedReader>>;
}

/** The files of `Compressed`, as threads give them to each other. */
export type CompressedFiles = Readonly<Record<(typeof COMPRESSED_FILES)[number], SharedFile>>;

const shareFiles = (opened: (name: string) => OpenedFile): CompressedFiles => {
  const share = (name: string): SharedFile => {
    const { path, handle, bytes, checksums } = opened(name);
    return shareFile(path, handle.fd, bytes, checksums);
  };
  return Object.fromEntries(
    COMPRESSED_FILES.map((name) => [name, share(name)]),
  ) as unknown as CompressedFiles;
};

export function openCompressed(shared: SharedMemory, files: CompressedFiles): Compressed {
  const readers = Object.fromEntries(
    COMPRESSED_FILES.map((name) => [name, new SharedReader(shared, files[name])]),
  ) as unknown as Compressed["readers"];
  return {
    codes: openRows(readers["codes.u64"], readers["codes.bin"]),
    lists: openRows(readers["lists.u64"], readers["lists.bin"]),
    files,
    readers,
  };
}

/**
 * @param uncached reads states without the block cache, which is for keys: the reader has its own
 * cache of states
 */
function statesReader(
  files: Files,
  uncached: Files,
  { files: records }: SegmentRecord,
): Segment["packedStates"] {
  if (!("states.bin" in records)) return async () => new Uint8Array();
  const starts = files("states.u64");
  const states = uncached("states.bin");
  return async (ordinal) => {
    const [start, end] = integers(await starts.read(8 * ordinal, 16));
    return states.read(start!, end! - start!);
  };
}

/** The first byte of the codes of passage `first`, and the end of those of the last of `count`. */
function codeBounds(
  files: Files,
  { tokenBytes }: KeyDecoder,
  tokenStarts: Segment["tokenStarts"],
  first: number,
  count: number,
): Awaitable<readonly [number, number]> {
  if (tokenBytes === undefined)
    return chain(files("codes.u64").read(first * 8, (count + 1) * 8), (bytes) => {
      const starts = integers(bytes);
      return [starts[0]!, starts[count]!];
    });
  return chain(tokenStarts(first, count), (starts) => [
    tokenBytes * starts[0]!,
    tokenBytes * starts[count]!,
  ]);
}

interface OpenedFile {
  readonly path: string;
  readonly handle: OpenFile;
  readonly bytes: number;
  readonly checksums: Uint32Array;
}

async function openWords(path: string, handles: OpenFile[]): Promise<OpenFile | undefined> {
  try {
    const file = await openFile(join(path, WORDS_FILE), "r");
    handles.push(file);
    return file;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function openFiles(
  path: string,
  record: SegmentRecord,
  handles: OpenFile[],
): Promise<(name: string) => OpenedFile> {
  const opened = new Map<string, OpenFile>();
  for (const [name, { bytes }] of Object.entries(record.files)) {
    const file = await openFile(join(path, name), "r");
    handles.push(file);
    opened.set(name, file);
    const { size } = await file.stat();
    if (size !== bytes) throw damagedFile(join(path, name), `${bytes} bytes`, `${size} bytes`);
  }
  const checksums = await readChecksums(path, record, opened.get(BLOCK_CHECKSUMS));
  return (name) => {
    const handle = opened.get(name);
    if (!handle)
      throw damagedFile(join(path, name), "the file in the manifest", "a manifest without it");
    const { bytes } = record.files[name]!;
    return { path: join(path, name), handle, bytes, checksums: checksums.get(name)! };
  };
}

/** The bits of the deleted passages; empty if none is deleted. */
export async function readDeleted(path: string, { deleted }: SegmentRecord): Promise<Uint8Array> {
  if (!deleted) return new Uint8Array();
  const file = join(path, deleted.file);
  const bits = await readFile(file);
  if (bits.length !== deleted.bytes || crc32(bits) !== deleted.crc32) throw damagedFile(file);
  return bits;
}

/**
 * Reads the block checksums of all files. They stay in memory: a 4,000th of the size of the files.
 */
async function readChecksums(
  path: string,
  record: SegmentRecord,
  file: OpenFile | undefined,
): Promise<Map<string, Uint32Array>> {
  const { bytes, crc32: expected } = record.files[BLOCK_CHECKSUMS] ?? { bytes: 0, crc32: 0 };
  const data = file ? await readAt(file, 0, bytes) : new Uint8Array();
  if (crc32(data) !== expected) throw damagedFile(join(path, BLOCK_CHECKSUMS));
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
