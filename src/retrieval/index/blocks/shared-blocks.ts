/**
 * Blocks of files in memory that threads share.
 *
 * A block that was read several times takes a slot and keeps it, so a thread can use what it finds
 * without a lock. When all slots are taken, other blocks are read from the disk each time.
 */

import { type Awaitable, chain } from "./awaitable.ts";
import { BLOCK_BYTES, type BlockFile, type CheckedFile, checkedFile } from "./blocks.ts";
import { readerOf } from "./descriptor-reader.ts";
import { damagedFile } from "./storage.ts";

/** The memory, as threads give it to each other. */
export interface SharedMemory {
  /** [slots, BLOCK_BYTES] */
  readonly blocks: SharedArrayBuffer;
  /** [1]: the number of slots that are taken. */
  readonly taken: Int32Array;
}

/** A file with blocks in the memory, as threads give it to each other. */
export interface SharedFile {
  readonly path: string;
  /** Of the open file. It serves all threads of the process. */
  readonly descriptor: number;
  readonly bytes: number;
  readonly checksums: Uint32Array;
  /**
   * The place of each block: `TAKEN` and more for a slot of the memory. Until it has a place, the
   * negative number of its reads.
   */
  readonly places: Int32Array;
}

/** A thread copies the block into its slot, or has found no slot. */
const PENDING = 1;
/** The place of a block in slot 0. */
const TAKEN = 2;

/** Reads of a block before it is kept: the first use of memory takes longer than a few reads. */
const READS = 3;

/** An array of bytes in Node 20 has fewer than 2^32. */
const MAX_SLOTS = 2 ** 32 / BLOCK_BYTES - 1;

/**
 * Memory for at most `limit` bytes of files with these sizes. The system provides it as blocks are
 * kept.
 */
export function shareMemory(sizes: readonly number[], limit: number): SharedMemory {
  const all = sizes.reduce((blocks, bytes) => blocks + Math.ceil(bytes / BLOCK_BYTES), 0);
  const slots = Math.min(all, Math.floor(limit / BLOCK_BYTES), MAX_SLOTS);
  return {
    blocks: new SharedArrayBuffer(slots * BLOCK_BYTES),
    taken: new Int32Array(new SharedArrayBuffer(4)),
  };
}

/** The file of an open descriptor, for threads that share the memory. */
export function shareFile(
  path: string,
  descriptor: number,
  bytes: number,
  checksums: Uint32Array,
): SharedFile {
  const places = new Int32Array(new SharedArrayBuffer(4 * checksums.length));
  return { path, descriptor, bytes, checksums, places };
}

/** Reads a file through the memory. */
export class SharedReader implements CheckedFile {
  readonly path: string;
  readonly bytes: number;
  readonly #file: BlockFile;
  readonly #memory: Uint8Array;
  readonly #taken: Int32Array;
  readonly #places: Int32Array;
  /** For blocks that no slot holds. Concurrent calls need one each. */
  readonly #buffers: Uint8Array[] = [];

  constructor({ blocks, taken }: SharedMemory, file: SharedFile) {
    const { path, bytes, descriptor, checksums, places } = file;
    this.path = path;
    this.bytes = bytes;
    this.#file = checkedFile(path, readerOf(descriptor), bytes, checksums);
    this.#memory = new Uint8Array(blocks);
    this.#taken = taken;
    this.#places = places;
  }

  read(position: number, length: number): Awaitable<Uint8Array> {
    // a scan would take all slots
    if (!(length > 0 && length <= MOST_KEPT && position + length <= this.bytes))
      return this.#file.read(position, length);
    const target = new Uint8Array(length);
    const range = Float64Array.of(position, position + length);
    return chain(this.copy(range, target, Uint32Array.of(0, length)), () => target);
  }

  /** As `read`, for a range in one block: in place, if the memory has it. Callers do not write. */
  view(position: number, length: number): Awaitable<Uint8Array> {
    const block = Math.floor(position / BLOCK_BYTES);
    const slot = this.#slotOf(block);
    if (slot < 0) return this.read(position, length);
    const start = (slot - block) * BLOCK_BYTES + position;
    return this.#memory.subarray(start, start + length);
  }

  /** Copies ranges, [ranges, 2], to those of `target` that `places` lists alike. */
  copy(ranges: Float64Array, target: Uint8Array, places: Uint32Array): Awaitable<void> {
    const missing: number[] = [];
    for (let i = 0; i < ranges.length; i += 2) {
      const start = ranges[i]!;
      const end = ranges[i + 1]!;
      if (!(start <= end && end <= this.bytes))
        throw damagedFile(this.path, `a position up to ${this.bytes}`, `${start} to ${end}`);
      for (let at = start; at < end; at += BLOCK_BYTES - (at % BLOCK_BYTES)) {
        const block = Math.floor(at / BLOCK_BYTES);
        if (this.#slotOf(block) < 0 && missing.at(-1) !== block) missing.push(block);
      }
    }
    return missing.length > 0
      ? this.#copyMissing(missing, ranges, target, places)
      : this.#copyFrom(NONE, ranges, target, places);
  }

  /** The slot of a block; negative if it has none. */
  #slotOf(block: number): number {
    return Atomics.load(this.#places, block) - TAKEN;
  }

  #copyFrom(
    found: FoundBlocks,
    ranges: Float64Array,
    target: Uint8Array,
    places: Uint32Array,
  ): void {
    for (let i = 0; i < ranges.length; i += 2)
      for (let to = places[i]!, from = ranges[i]!, end = ranges[i + 1]!; from < end; ) {
        const block = Math.floor(from / BLOCK_BYTES);
        const start = from - block * BLOCK_BYTES;
        const length = Math.min(end - from, BLOCK_BYTES - start);
        const read = found.get(block);
        const at = start + (read ? 0 : this.#slotOf(block) * BLOCK_BYTES);
        target.set((read ?? this.#memory).subarray(at, at + length), to);
        to += length;
        from += length;
      }
  }

  /** As `copy`, where `missing` are blocks of the ranges that are in no slot. */
  async #copyMissing(
    missing: readonly number[],
    ranges: Float64Array,
    target: Uint8Array,
    places: Uint32Array,
  ): Promise<void> {
    const runs = runsOf(missing);
    const blocks = runs.reduce((sum, [first, end]) => sum + end - first, 0);
    let buffer = this.#buffers.pop() ?? new Uint8Array();
    if (buffer.length < blocks * BLOCK_BYTES) buffer = new Uint8Array(2 * blocks * BLOCK_BYTES);
    const found: FoundBlocks = new Map();
    let start = 0;
    const read = ([first, end]: Run): Promise<void> => {
      const data = buffer.subarray(start, start + this.#bytesOf([first, end]));
      start += data.length;
      for (let block = first; block < end; block++)
        found.set(block, data.subarray((block - first) * BLOCK_BYTES));
      return this.#file.readBlocks(first, data);
    };
    await Promise.all(runs.map(read));
    for (const block of new Set(missing)) this.#keep(block, found.get(block)!);
    this.#copyFrom(found, ranges, target, places);
    this.#buffers.push(buffer);
  }

  /** Counts a read of a block, or keeps it, if it was read often and a slot is left. */
  #keep(block: number, data: Uint8Array): void {
    const place = Atomics.load(this.#places, block);
    if (place > 0) return; // another thread keeps it
    const next = place > -READS ? place - 1 : PENDING;
    if (Atomics.compareExchange(this.#places, block, place, next) !== place) return;
    if (next !== PENDING) return;
    const slot = Atomics.add(this.#taken, 0, 1);
    if ((slot + 1) * BLOCK_BYTES > this.#memory.length) return; // it stays pending
    this.#memory.set(data.subarray(0, this.#bytesOf([block, block + 1])), slot * BLOCK_BYTES);
    Atomics.store(this.#places, block, slot + TAKEN);
  }

  #bytesOf([first, end]: Run): number {
    return Math.min(this.bytes, end * BLOCK_BYTES) - first * BLOCK_BYTES;
  }
}

/** Blocks that were read and are in no slot. */
type FoundBlocks = Map<number, Uint8Array>;

const NONE: FoundBlocks = new Map();

/** The first block and the end of consecutive blocks. */
type Run = readonly [first: number, end: number];

/** The most blocks between two that are read with them: as cheap as another read. */
const GAP = 2;
const RUN_BLOCKS = 64; // 1 MiB
/** Bytes of the longest range whose blocks are kept. */
const MOST_KEPT = 8 * BLOCK_BYTES;

/** Joins blocks to runs, with those between them. */
function runsOf(blocks: readonly number[]): Run[] {
  const runs: [first: number, end: number][] = [];
  for (const block of Float64Array.from(blocks).sort()) {
    const last = runs.at(-1);
    if (last && block < last[1] + GAP && block < last[0] + RUN_BLOCKS)
      last[1] = Math.max(last[1], block + 1);
    else runs.push([block, block + 1]);
  }
  return runs;
}
