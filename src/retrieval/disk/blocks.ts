/**
 * Files that are checked wherever they are read: every block of 16 KiB has a checksum, so that a damaged disk gives an
 * error that names the file, never a wrong answer, and reading by position stays cheap.
 */

import type { FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { InputError } from "../../errors.ts";
import { readAt } from "./storage.ts";

/** Bytes. Small beside a read of one passage's keys, and 4,000 times its checksum. */
export const BLOCK_BYTES = 16_384;

/** Follows the bytes of a growing file: its CRC-32 and that of each of its blocks. */
export interface RunningChecksum {
  readonly bytes: number;
  readonly crc32: number;
  add(data: Uint8Array): void;
  /** One a block, the last of which may be short. */
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
      if (data.length === 0) return; // of nothing, crc32 is 0, whatever came before
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
  /** `length` bytes from `position`, which the caller knows to be there. Throws `InputError` where a block is damaged. */
  read(position: number, length: number): Promise<Uint8Array>;
}

export function checkedFile(
  path: string,
  file: FileHandle,
  bytes: number,
  checksums: Uint32Array,
): CheckedFile {
  return {
    path,
    bytes,
    async read(position, length) {
      const start = position - (position % BLOCK_BYTES);
      const end = Math.min(bytes, Math.ceil((position + length) / BLOCK_BYTES) * BLOCK_BYTES);
      const data = await readAt(file, start, end - start);
      for (let at = 0; at < end - start; at += BLOCK_BYTES) {
        const block = (start + at) / BLOCK_BYTES;
        if (crc32(data.subarray(at, at + BLOCK_BYTES)) !== checksums[block]) throw damaged(path, start + at);
      }
      return data.subarray(position - start, position - start + length);
    },
  };
}

/** Blocks of a file are numbered below this: 2^40 bytes. */
const FILE_BLOCKS = 2 ** 26;

/** The blocks that were read last, of any number of files, in at most `limit` bytes. */
export class BlockCache {
  readonly #limit: number;
  #bytes = 0;
  #files = 0;
  /** By the number of the file and that of the block in it, as one number: a search looks up thousands. */
  readonly #blocks: Map<number, Uint8Array> = new Map();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The same file; reads within a block are served from memory where it is there. */
  over(file: CheckedFile): CheckedFile {
    const base = this.#files++ * FILE_BLOCKS;
    return {
      ...file,
      read: async (position, length) => {
        const first = Math.floor(position / BLOCK_BYTES);
        const last = Math.floor((position + length - 1) / BLOCK_BYTES);
        if (last - first > 8 || length === 0) return file.read(position, length); // a scan would only wash out the rest
        const start = position - first * BLOCK_BYTES;
        if (first === last) return (await this.#block(file, base, first)).subarray(start, start + length);
        const blocks = [];
        for (let block = first; block <= last; block++) blocks.push(await this.#block(file, base, block));
        return new Uint8Array(Buffer.concat(blocks).subarray(start, start + length));
      },
    };
  }

  async #block(file: CheckedFile, base: number, block: number): Promise<Uint8Array> {
    const key = base + block;
    const known = this.#blocks.get(key);
    if (known) {
      this.#blocks.delete(key); // to the end of the line
      this.#blocks.set(key, known);
      return known;
    }
    const start = block * BLOCK_BYTES;
    const data = await file.read(start, Math.min(BLOCK_BYTES, file.bytes - start));
    if (!this.#blocks.has(key)) this.#bytes += data.length;
    this.#blocks.set(key, data);
    for (const [oldest, { length }] of this.#blocks) {
      if (this.#bytes <= this.#limit) break;
      this.#blocks.delete(oldest);
      this.#bytes -= length;
    }
    return data;
  }
}

const damaged = (path: string, position: number): InputError =>
  new InputError({
    where: path,
    expected: `the bytes that were written at ${position}`,
    got: "others",
    remedy: "restore the file from a copy, or build the index again",
  });
