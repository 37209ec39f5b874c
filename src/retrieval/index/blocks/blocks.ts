/**
 * Files with a checksum for every block of 16 KiB, which is checked at every read. A damaged disk
 * causes an error that names the file, and reading by position stays cheap.
 */

import { crc32 } from "node:zlib";
import { type Awaitable, chain, together } from "./awaitable.ts";
import { damagedFile, fillFrom, type Readable, readingErrorFrom } from "./storage.ts";

/**
 * Bytes of a block: small compared with the keys of a passage, and 4,000 times the size of its
 * checksum.
 */
export const BLOCK_BYTES = 16_384;

/** Computes the CRC-32 of a growing file and of each of its blocks. */
export interface RunningChecksum {
  readonly bytes: number;
  readonly crc32: number;
  add(data: Uint8Array): void;
  /** The checksum of each block. The last block can be short. */
  blocks(): number[];
}

export function runningChecksum(): RunningChecksum {
  const whole: number[] = [];
  let bytes = 0;
  let total = 0;
  let block = 0;
  return {
    get bytes() {
      return bytes;
    },
    get crc32() {
      return total;
    },
    add(data) {
      if (data.length === 0) return; // crc32 of no bytes is 0, whatever the start value
      total = crc32(data, total);
      for (let start = 0; start < data.length; ) {
        const part = data.subarray(start, start + BLOCK_BYTES - (bytes % BLOCK_BYTES));
        block = crc32(part, block);
        bytes += part.length;
        start += part.length;
        if (bytes % BLOCK_BYTES === 0) {
          whole.push(block);
          block = 0;
        }
      }
    },
    blocks: () => (bytes % BLOCK_BYTES === 0 ? [...whole] : [...whole, block]),
  };
}

export interface CheckedFile {
  readonly path: string;
  readonly bytes: number;
  /**
   * Reads `length` bytes from `position`.
   *
   * @throws {InputError} if a block is damaged or cannot be read, or if the file is too short
   */
  read(position: number, length: number): Awaitable<Uint8Array>;
}

export interface BlockFile extends CheckedFile {
  /** Fills `blocks` with the whole blocks from block `first` on; the last of the file is short. */
  readBlocks(first: number, blocks: Uint8Array): Promise<void>;
}

export function checkedFile(
  path: string,
  file: Readable,
  bytes: number,
  checksums: Uint32Array,
): BlockFile {
  const readBlocks: BlockFile["readBlocks"] = async (first, blocks) => {
    const start = first * BLOCK_BYTES;
    const done = await fillFrom(file, start, blocks).catch((error: unknown) => {
      throw readingErrorFrom(error, path);
    });
    for (let at = 0; at < blocks.length; at += BLOCK_BYTES) {
      const block = blocks.subarray(at, Math.min(at + BLOCK_BYTES, done));
      if (crc32(block) !== checksums[first + at / BLOCK_BYTES])
        throw damagedFile(path, `the checksum of the block at ${start + at}`);
    }
  };
  return {
    path,
    bytes,
    readBlocks,
    async read(position, length) {
      if (!(position >= 0 && length >= 0 && position + length <= bytes))
        throw damagedFile(path, `a position up to ${bytes}`, `${position + length}`);
      const first = Math.floor(position / BLOCK_BYTES);
      const start = first * BLOCK_BYTES;
      const end = Math.min(bytes, Math.ceil((position + length) / BLOCK_BYTES) * BLOCK_BYTES);
      // its own memory from byte 0, so that typed arrays can view it
      const data = Buffer.allocUnsafeSlow(end - start);
      await readBlocks(first, data);
      return data.subarray(position - start, position - start + length);
    },
  };
}

/** The most blocks of a file: 2^40 bytes. */
const FILE_BLOCKS = 2 ** 26;

/**
 * A cache of blocks of any number of files, in at most `limit` bytes.
 *
 * It has two halves. Blocks that are used move to the young half. When the young half is full, it
 * becomes the old half and the previous old half is dropped.
 */
export class BlockCache {
  readonly #halfLimit: number;
  #files = 0;
  #youngBytes = 0;
  /** The key is one number, from the numbers of file and block: a search looks up thousands. */
  #young: Map<number, Uint8Array> = new Map();
  #old: Map<number, Uint8Array> = new Map();
  readonly #reading: Map<number, Promise<Uint8Array>> = new Map();

  constructor(limit: number) {
    this.#halfLimit = limit / 2;
  }

  /** Adds the cache to a file. A read of a few blocks that are in memory returns at once. */
  over(file: CheckedFile): CheckedFile {
    const base = this.#files++ * FILE_BLOCKS;
    return {
      ...file,
      read: (position, length) => {
        const first = Math.floor(position / BLOCK_BYTES);
        const last = Math.floor((position + length - 1) / BLOCK_BYTES);
        // a scan would replace all other blocks
        if (!(last - first <= 8) || length === 0) return file.read(position, length);
        const start = position - first * BLOCK_BYTES;
        if (first === last)
          return chain(this.#block(file, base, first), (block) =>
            block.subarray(start, start + length),
          );
        const blocks = Array.from({ length: last - first + 1 }, (_, i) =>
          this.#block(file, base, first + i),
        );
        return chain(together(blocks), (known) => {
          const data = new Uint8Array(length);
          let at = 0;
          for (const [i, block] of known.entries()) {
            const from = i === 0 ? start : 0;
            const part = block.subarray(from, from + length - at);
            data.set(part, at);
            at += part.length;
          }
          return data;
        });
      },
    };
  }

  #block(file: CheckedFile, base: number, block: number): Awaitable<Uint8Array> {
    const key = base + block;
    const young = this.#young.get(key);
    if (young) return young;
    const old = this.#old.get(key);
    if (old) return this.#keep(key, old);
    let reading = this.#reading.get(key);
    if (!reading) {
      reading = this.#read(file, key, block * BLOCK_BYTES).finally(() => this.#reading.delete(key));
      this.#reading.set(key, reading);
    }
    return reading;
  }

  async #read(file: CheckedFile, key: number, start: number): Promise<Uint8Array> {
    return this.#keep(key, await file.read(start, Math.min(BLOCK_BYTES, file.bytes - start)));
  }

  #keep(key: number, data: Uint8Array): Uint8Array {
    if (this.#youngBytes + data.length > this.#halfLimit) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngBytes = 0;
    }
    this.#young.set(key, data);
    this.#youngBytes += data.length;
    return data;
  }
}
