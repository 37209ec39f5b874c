/**
 * Blocks of files in memory that threads share.
 *
 * A block takes a slot when a thread reads it first, and keeps it, so a thread can use what it
 * finds without a lock. When all slots are taken, other blocks are read from the disk each time.
 */

import { read } from "node:fs";
import { promisify } from "node:util";
import { type Awaitable, chain } from "./awaitable.ts";
import { BLOCK_BYTES, type BlockFile, type CheckedFile, checkedFile } from "./blocks.ts";
import { damagedFile, type Readable } from "./storage.ts";

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
  /** The place of each block: `TAKEN` and more for a slot of the memory. */
  readonly places: Int32Array;
}

const ABSENT = 0;
/** A thread copies the block into its slot, or has found no slot. */
const PENDING = 1;
/** The place of a block in slot 0. */
const TAKEN = 2;

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

const readDescriptor = promisify(read);

/** Reads a file through the memory. */
export class SharedReader implements CheckedFile {
  readonly path: string;
  readonly bytes: number;
  readonly #file: BlockFile;
  readonly #memory: Uint8Array;
  readonly #taken: Int32Array;
  readonly #places: Int32Array;

  constructor({ blocks, taken }: SharedMemory, file: SharedFile) {
    const { path, bytes, descriptor, checksums, places } = file;
    const readable: Readable = { read: (...place) => readDescriptor(descriptor, ...place) };
    this.path = path;
    this.bytes = bytes;
    this.#file = checkedFile(path, readable, bytes, checksums);
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
    return chain(this.copy(range, target), () => target);
  }

  /** Copies ranges, pairs of a first byte and an end, to `target`, one after the other. */
  copy(ranges: Float64Array, target: Uint8Array): Awaitable<void> {
    const missing: number[] = [];
    for (let i = 0; i < ranges.length; i += 2) {
      const [start, end] = [ranges[i]!, ranges[i + 1]!];
      if (!(start <= end && end <= this.bytes))
        throw damagedFile(this.path, `a position up to ${this.bytes}`, `${start} to ${end}`);
      for (let at = start; at < end; at += BLOCK_BYTES - (at % BLOCK_BYTES)) {
        const block = Math.floor(at / BLOCK_BYTES);
        if (this.#slotOf(block) < 0) missing.push(block);
      }
    }
    return chain(missing.length > 0 ? this.#readMissing(missing) : NONE, (found) =>
      this.#copyFrom(found, ranges, target),
    );
  }

  /** The slot of a block; negative if it has none. */
  #slotOf(block: number): number {
    return Atomics.load(this.#places, block) - TAKEN;
  }

  #copyFrom(found: FoundBlocks, ranges: Float64Array, target: Uint8Array): void {
    let to = 0;
    for (let i = 0; i < ranges.length; i += 2)
      for (let from = ranges[i]!, end = ranges[i + 1]!; from < end; ) {
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

  async #readMissing(missing: readonly number[]): Promise<FoundBlocks> {
    const found: FoundBlocks = new Map();
    const runs = runsOf(missing, (block) => this.#slotOf(block) < 0);
    const read = (run: Run): Promise<void> =>
      this.#claim(run) ? this.#readToSlots(run, found) : this.#readRun(run, found);
    await Promise.all(runs.map(read));
    return found;
  }

  /** Whether this thread, and no other, reads all blocks of the run. */
  #claim([first, end]: Run): boolean {
    for (let block = first; block < end; block++)
      if (Atomics.compareExchange(this.#places, block, ABSENT, PENDING) !== ABSENT) {
        while (--block >= first) Atomics.store(this.#places, block, ABSENT);
        return false;
      }
    return true;
  }

  /** Reads blocks to slots, if there are as many. Otherwise they stay pending. */
  async #readToSlots([first, end]: Run, found: FoundBlocks): Promise<void> {
    const slot = Atomics.add(this.#taken, 0, end - first);
    const start = slot * BLOCK_BYTES;
    if ((slot + end - first) * BLOCK_BYTES > this.#memory.length)
      return this.#readRun([first, end], found);
    const blocks = this.#memory.subarray(start, start + this.#bytesOf([first, end]));
    await this.#file.readBlocks(first, blocks);
    for (let block = first; block < end; block++)
      Atomics.store(this.#places, block, slot + block - first + TAKEN);
  }

  async #readRun([first, end]: Run, found: FoundBlocks): Promise<void> {
    const data = new Uint8Array(this.#bytesOf([first, end]));
    await this.#file.readBlocks(first, data);
    for (let block = first; block < end; block++)
      found.set(block, data.subarray((block - first) * BLOCK_BYTES));
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
const GAP = 4;
const RUN_BLOCKS = 64; // 1 MiB
/** Bytes of the longest range whose blocks are kept. */
const MOST_KEPT = 8 * BLOCK_BYTES;

/** Joins blocks to runs, and those between them that are missing, too. */
function runsOf(blocks: readonly number[], isMissing: (block: number) => boolean): Run[] {
  const runs: [first: number, end: number][] = [];
  for (const block of Float64Array.from(blocks).sort()) {
    const last = runs.at(-1);
    const isNear = last && block < last[1] + GAP && block < last[0] + RUN_BLOCKS;
    let next = last?.[1] ?? block;
    while (isNear && next < block && isMissing(next)) next++;
    if (isNear && next >= block) last[1] = Math.max(last[1], block + 1);
    else runs.push([block, block + 1]);
  }
  return runs;
}
