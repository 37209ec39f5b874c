/**
 * Blocks of files in memory that threads share.
 *
 * A block takes a slot when a thread reads it first, and keeps it, so a thread can use what it finds
 * without a lock. When all slots are taken, the other blocks are read from the disk each time.
 */

import { read } from "node:fs";
import { promisify } from "node:util";
import { type Awaitable, chain } from "./awaitable.ts";
import { BLOCK_BYTES, type CheckedFile, checkedFile } from "./blocks.ts";
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
  /** The place of each block: `TAKEN` and more for a slot of the memory. */
  readonly places: Int32Array;
}

const ABSENT = 0;
/** A thread copies the block into its slot, or has found no slot. */
const PENDING = 1;
/** The place of a block in slot 0. */
const TAKEN = 2;

/** Reads a file through the memory. Ranges are pairs of a first byte and an end. */
export interface SharedReader extends CheckedFile {
  /** Copies ranges of the file to `target`, one after the other. */
  copy(ranges: Float64Array, target: Uint8Array): Awaitable<void>;
}

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

export function openShared(memory: SharedMemory, shared: SharedFile): SharedReader {
  const { path, bytes, descriptor, checksums, places } = shared;
  const file = checkedFile(
    path,
    { read: (...place) => readDescriptor(descriptor, ...place) },
    bytes,
    checksums,
  );
  const memoryBytes = new Uint8Array(memory.blocks);
  const slotOf = (block: number): number => Atomics.load(places, block) - TAKEN;
  const claimAll = ([first, end]: Run): boolean => {
    for (let block = first; block < end; block++)
      if (Atomics.compareExchange(places, block, ABSENT, PENDING) !== ABSENT) {
        while (--block >= first) Atomics.store(places, block, ABSENT);
        return false;
      }
    return true;
  };
  /** Reads blocks to slots, if there are as many. Otherwise they stay pending. */
  const readToSlots = async ([first, end]: Run, found: FoundBlocks): Promise<void> => {
    const slot = Atomics.add(memory.taken, 0, end - first);
    const start = slot * BLOCK_BYTES;
    if ((slot + end - first) * BLOCK_BYTES > memoryBytes.length)
      return readRun([first, end], found);
    await file.readBlocks(first, memoryBytes.subarray(start, start + runBytes([first, end])));
    for (let block = first; block < end; block++)
      Atomics.store(places, block, slot + block - first + TAKEN);
  };
  const runBytes = ([first, end]: Run): number =>
    Math.min(bytes, end * BLOCK_BYTES) - first * BLOCK_BYTES;
  const readRun = async ([first, end]: Run, found: FoundBlocks): Promise<void> => {
    const data = new Uint8Array(runBytes([first, end]));
    await file.readBlocks(first, data);
    for (let block = first; block < end; block++)
      found.set(block, data.subarray((block - first) * BLOCK_BYTES));
  };
  const readMissing = async (missing: readonly number[]): Promise<FoundBlocks> => {
    const found: FoundBlocks = new Map();
    const read = (run: Run) => (claimAll(run) ? readToSlots(run, found) : readRun(run, found));
    await Promise.all(runsOf(missing).map(read));
    return found;
  };
  const copyFrom = (found: FoundBlocks, ranges: Float64Array, target: Uint8Array): void => {
    let to = 0;
    for (let i = 0; i < ranges.length; i += 2)
      for (let from = ranges[i]!, end = ranges[i + 1]!; from < end; ) {
        const block = Math.floor(from / BLOCK_BYTES);
        const start = from - block * BLOCK_BYTES;
        const length = Math.min(end - from, BLOCK_BYTES - start);
        const read = found.get(block);
        const data = read ?? memoryBytes;
        const at = start + (read ? 0 : slotOf(block) * BLOCK_BYTES);
        target.set(data.subarray(at, at + length), to);
        to += length;
        from += length;
      }
  };
  const copy: SharedReader["copy"] = (ranges, target) => {
    const missing: number[] = [];
    for (let i = 0; i < ranges.length; i += 2) {
      const [start, end] = [ranges[i]!, ranges[i + 1]!];
      if (!(start <= end && end <= bytes))
        throw damagedFile(path, `a position up to ${bytes}`, `${start} to ${end}`);
      for (let at = start; at < end; at += BLOCK_BYTES - (at % BLOCK_BYTES)) {
        const block = Math.floor(at / BLOCK_BYTES);
        if (slotOf(block) < 0) missing.push(block);
      }
    }
    return chain(missing.length > 0 ? readMissing(missing) : NONE, (found) =>
      copyFrom(found, ranges, target),
    );
  };
  return {
    path,
    bytes,
    copy,
    read(position, length) {
      // a scan would take all slots
      if (!(length > 0 && length <= MOST_KEPT && position + length <= bytes))
        return file.read(position, length);
      const target = new Uint8Array(length);
      const range = Float64Array.of(position, position + length);
      return chain(copy(range, target), () => target);
    },
  };
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

/** Joins blocks to runs. */
function runsOf(blocks: readonly number[]): Run[] {
  const runs: [number, number][] = [];
  for (const block of Float64Array.from(blocks).sort()) {
    const last = runs.at(-1);
    if (last && block < last[1] + GAP && block < last[0] + RUN_BLOCKS)
      last[1] = Math.max(last[1], block + 1);
    else runs.push([block, block + 1]);
  }
  return runs;
}
