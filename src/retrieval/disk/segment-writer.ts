/** Writes one segment, window by window, each durable before the next. The layout is in manifest.ts. */

import { constants, type FileHandle, mkdir, open } from "node:fs/promises";
import { basename, join } from "node:path";
import { replaceFile } from "../../replace-file.ts";
import type { Passage } from "../../text/passage.ts";
import { longestRow } from "../search/score.ts";
import { type RunningChecksum, runningChecksum } from "./blocks.ts";
import { type BuildPlan, type Checkpoint, journalLine, readJournal } from "./journal.ts";
import type { FileRecord, SegmentRecord } from "./manifest.ts";
import { bytesOf, completeSegment, recordOf, writeParts } from "./new-files.ts";
import { packPassage, unpackPassage } from "./packed-passage.ts";
import { readAt, writeAt } from "./storage.ts";

/** The files that grow with every window. */
const GROWING = ["passages.deflate", "offsets.u64", "keys.f32"] as const;
type GrowingName = (typeof GROWING)[number];

const READ_BYTES = 4_194_304;

export interface SegmentWriter extends AsyncDisposable {
  /** What is durable, a checkpoint a window. */
  readonly checkpoints: readonly Checkpoint[];
  /** Makes a window durable. `keys[i]` is [tokens of passage i, dimension]; `digest` is of all passages up to its end. */
  append(passages: readonly Passage[], keys: readonly Float32Array[], digest: string): Promise<void>;
  /** Drops what follows the first `count` checkpoints. */
  rewind(count: number): Promise<void>;
  /** A passage of a durable window. */
  passage(ordinal: number): Promise<Passage>;
  /** Makes the segment complete. `ids` is the sorted table of all its ids. */
  seal(ids: BigUint64Array): Promise<SegmentRecord>;
}

interface GrowingFile {
  readonly handle: FileHandle;
  checksum: RunningChecksum;
}

type GrowingFiles = Readonly<Record<GrowingName, GrowingFile>>;

/** Opens the segment at `path`: a new one, or what an interrupted build of the same plan left there that is whole. */
export async function openSegmentWriter(path: string, plan: BuildPlan): Promise<SegmentWriter> {
  await mkdir(path, { recursive: true });
  const entries: [GrowingName, GrowingFile][] = [];
  for (const name of GROWING) {
    const handle = await open(join(path, name), constants.O_RDWR | constants.O_CREAT);
    entries.push([name, { handle, checksum: runningChecksum() }]);
  }
  const writer = new FileSegmentWriter(path, plan, Object.fromEntries(entries) as unknown as GrowingFiles);
  try {
    await writer.restore(await readJournal(join(path, "journal"), plan));
  } catch (error) {
    await writer[Symbol.asyncDispose]();
    throw error;
  }
  return writer;
}

class FileSegmentWriter implements SegmentWriter {
  readonly #path: string;
  readonly #plan: BuildPlan;
  readonly #files: GrowingFiles;
  #journal: FileHandle | undefined;
  #checkpoints: Checkpoint[] = [];

  constructor(path: string, plan: BuildPlan, files: GrowingFiles) {
    this.#path = path;
    this.#plan = plan;
    this.#files = files;
  }

  get checkpoints(): readonly Checkpoint[] {
    return this.#checkpoints;
  }

  /** Goes back to the longest beginning of `checkpoints` whose files are whole. */
  async restore(checkpoints: readonly Checkpoint[]): Promise<void> {
    this.#checkpoints = await wholeCheckpoints(this.#files, checkpoints);
    await this.#journal?.close();
    const lines = [this.#plan, ...this.#checkpoints].map(journalLine);
    await replaceFile(join(this.#path, "journal"), (file) => file.writeFile(lines.join("")));
    this.#journal = await open(join(this.#path, "journal"), "a");
    for (const { handle, checksum } of Object.values(this.#files)) await handle.truncate(checksum.bytes);
  }

  rewind(count: number): Promise<void> {
    return this.restore(this.#checkpoints.slice(0, count));
  }

  async append(passages: readonly Passage[], keys: readonly Float32Array[], digest: string): Promise<void> {
    const { dimension } = this.#plan.header;
    const before = this.#checkpoints.at(-1) ?? { passages: 0, tokens: 0, longestKey: 0 };
    let tokens = before.tokens;
    let byte = this.#files["passages.deflate"].checksum.bytes;
    const packed = passages.map(packPassage);
    const offsets = new BigUint64Array(2 * passages.length);
    for (const [i, { length }] of packed.entries()) {
      offsets.set([BigInt(tokens), BigInt(byte)], 2 * i);
      tokens += keys[i]!.length / dimension;
      byte += length;
    }
    await extend(this.#files["passages.deflate"], Buffer.concat(packed));
    await extend(this.#files["offsets.u64"], bytesOf(offsets));
    await extend(this.#files["keys.f32"], Buffer.concat(keys.map(bytesOf)));
    await this.#sync();
    const longestKey = keys.reduce((longest, key) => Math.max(longest, longestRow(key, dimension)), 0);
    const checkpoint: Checkpoint = {
      passages: before.passages + passages.length,
      tokens,
      longestKey: Math.max(before.longestKey, longestKey),
      digest,
      files: this.#records(),
    };
    await this.#journal!.appendFile(journalLine(checkpoint));
    await this.#journal!.datasync();
    this.#checkpoints.push(checkpoint);
  }

  async passage(ordinal: number): Promise<Passage> {
    const offsets = await readAt(this.#files["offsets.u64"].handle, 16 * ordinal, 32);
    const start = Number(offsets.readBigUInt64LE(8));
    const { handle, checksum } = this.#files["passages.deflate"];
    const end = offsets.length === 32 ? Number(offsets.readBigUInt64LE(24)) : checksum.bytes;
    return unpackPassage(await readAt(handle, start, end - start));
  }

  async seal(ids: BigUint64Array): Promise<SegmentRecord> {
    const { passages, tokens, longestKey } = this.#checkpoints.at(-1)!;
    const end = [BigInt(tokens), BigInt(this.#files["passages.deflate"].checksum.bytes)];
    await extend(this.#files["offsets.u64"], bytesOf(BigUint64Array.from(end)));
    await this.#sync();
    const files = await completeSegment(this.#path, {
      "passages.deflate": this.#files["passages.deflate"].checksum,
      "offsets.u64": this.#files["offsets.u64"].checksum,
      "ids.u64": await writeParts(join(this.#path, "ids.u64"), [ids]),
      "keys.f32": this.#files["keys.f32"].checksum,
    });
    return { name: basename(this.#path), passages, tokens, longestKey, files };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const handles = Object.values(this.#files).map(({ handle }) => handle);
    await Promise.all([...handles, this.#journal].map((handle) => handle?.close()));
  }

  async #sync(): Promise<void> {
    await Promise.all(Object.values(this.#files).map(({ handle }) => handle.datasync()));
  }

  #records(): Record<GrowingName, FileRecord> {
    const entries = GROWING.map((name) => [name, recordOf(this.#files[name].checksum)]);
    return Object.fromEntries(entries) as Record<GrowingName, FileRecord>;
  }
}

/** How many of `checkpoints` the files hold, whole; leaves the checksums of the files at the last of these. */
async function wholeCheckpoints(
  files: GrowingFiles,
  checkpoints: readonly Checkpoint[],
): Promise<Checkpoint[]> {
  for (const file of Object.values(files)) file.checksum = runningChecksum();
  for (const [i, checkpoint] of checkpoints.entries())
    for (const name of GROWING)
      if (!(await matches(files[name], checkpoint.files[name]!)))
        return wholeCheckpoints(files, checkpoints.slice(0, i));
  return [...checkpoints];
}

/** Reads on to the size that `record` says and compares. */
async function matches({ handle, checksum }: GrowingFile, record: FileRecord): Promise<boolean> {
  while (checksum.bytes < record.bytes) {
    const length = Math.min(READ_BYTES, record.bytes - checksum.bytes);
    const data = await readAt(handle, checksum.bytes, length);
    if (data.length < length) return false;
    checksum.add(data);
  }
  return checksum.crc32 === record.crc32;
}

async function extend(file: GrowingFile, data: Uint8Array): Promise<void> {
  await writeAt(file.handle, data, file.checksum.bytes);
  file.checksum.add(data);
}
