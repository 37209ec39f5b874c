/**
 * Files that grow together, step by step. A step is durable and recorded in a journal (journal.ts)
 * before the next begins, so an interrupted writer resumes after the last complete step.
 */

import { constants } from "node:fs/promises";
import { join } from "node:path";
import { createDirectory } from "../../../io/create-directory.ts";
import { type OpenFile, openFile } from "../../../io/open-file.ts";
import { type RunningChecksum, runningChecksum } from "../blocks/blocks.ts";
import { readAt, writeAt } from "../blocks/storage.ts";
import { journalLine, journalPath, readJournal, writeJournal } from "../format/journal.ts";
import type { FileRecord } from "../format/manifest.ts";
import { recordOf } from "../format/new-files.ts";

const READ_BYTES = 4_194_304;

/** A durable step: the state that its writer records, and the sizes and checksums of the files. */
export type ResumePoint<State> = State & { readonly files: Readonly<Record<string, FileRecord>> };

export interface GrowingFiles<Name extends string, State> extends AsyncDisposable {
  /** The durable steps. */
  readonly resumePoints: readonly ResumePoint<State>[];
  /** The checksums of all durable bytes. */
  readonly checksums: Readonly<Record<Name, RunningChecksum>>;
  /** Appends the parts of `data` to the files and makes the step durable. */
  append(data: Readonly<Record<Name, readonly Uint8Array[]>>, state: State): Promise<void>;
  /** Drops the steps after the first `count`. */
  rewind(count: number): Promise<void>;
  /** Reads durable bytes. */
  read(name: Name, position: number, length: number): Promise<Buffer>;
}

/**
 * Opens files in `folder`: new ones, or the complete steps of an interrupted writer with the same
 * plan.
 */
export async function openGrowingFiles<Name extends string, State>(
  folder: string,
  names: readonly Name[],
  plan: object,
): Promise<GrowingFiles<Name, State>> {
  await createDirectory(folder);
  const files = new JournaledFiles<Name, State>(folder, names, plan);
  try {
    await files.open();
    await files.restore(await readJournal(folder, plan));
  } catch (error) {
    await files[Symbol.asyncDispose]();
    throw error;
  }
  return files;
}

class JournaledFiles<Name extends string, State> implements GrowingFiles<Name, State> {
  readonly #folder: string;
  readonly #names: readonly Name[];
  readonly #plan: object;
  readonly #handles = new Map<Name, OpenFile>();
  #journal: OpenFile | undefined;
  #resumePoints: ResumePoint<State>[] = [];
  #checksums: Record<Name, RunningChecksum>;

  constructor(folder: string, names: readonly Name[], plan: object) {
    this.#folder = folder;
    this.#names = names;
    this.#plan = plan;
    this.#checksums = this.#each(runningChecksum);
  }

  get resumePoints(): readonly ResumePoint<State>[] {
    return this.#resumePoints;
  }

  get checksums(): Readonly<Record<Name, RunningChecksum>> {
    return this.#checksums;
  }

  async open(): Promise<void> {
    for (const name of this.#names)
      this.#handles.set(
        name,
        await openFile(join(this.#folder, name), constants.O_RDWR | constants.O_CREAT),
      );
  }

  /** Returns to the last of `resumePoints` up to which the files are complete. */
  async restore(resumePoints: readonly ResumePoint<State>[]): Promise<void> {
    this.#resumePoints = await this.#wholeResumePoints(resumePoints);
    await this.#journal?.close();
    await writeJournal(this.#folder, this.#plan, this.#resumePoints);
    this.#journal = await openFile(journalPath(this.#folder), "a");
    for (const [name, handle] of this.#handles) {
      await handle.truncate(this.#checksums[name].bytes);
      await handle.datasync(); // no append may follow
    }
  }

  rewind(count: number): Promise<void> {
    return this.restore(this.#resumePoints.slice(0, count));
  }

  async append(data: Readonly<Record<Name, readonly Uint8Array[]>>, state: State): Promise<void> {
    for (const [name, handle] of this.#handles)
      for (const part of data[name]) {
        await writeAt(handle, part, this.#checksums[name].bytes);
        this.#checksums[name].add(part);
      }
    await Promise.all(Array.from(this.#handles.values(), (handle) => handle.datasync()));
    const resumePoint = { ...state, files: this.#each((name) => recordOf(this.#checksums[name])) };
    await this.#journal!.appendFile(journalLine(resumePoint));
    await this.#journal!.datasync();
    this.#resumePoints.push(resumePoint);
  }

  read(name: Name, position: number, length: number): Promise<Buffer> {
    return readAt(this.#handles.get(name)!, position, length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#handles.values(), this.#journal].map((handle) => handle?.close()));
  }

  /** The longest prefix of `resumePoints` that the files hold. Leaves the checksums at its end. */
  async #wholeResumePoints(
    resumePoints: readonly ResumePoint<State>[],
  ): Promise<ResumePoint<State>[]> {
    this.#checksums = this.#each(runningChecksum);
    for (const [i, { files }] of resumePoints.entries())
      for (const name of this.#names)
        if (!(await this.#matches(name, files[name]!)))
          return this.#wholeResumePoints(resumePoints.slice(0, i));
    return [...resumePoints];
  }

  /** Reads up to the size in `record` and compares the checksum. */
  async #matches(name: Name, record: FileRecord): Promise<boolean> {
    const checksum = this.#checksums[name];
    while (checksum.bytes < record.bytes) {
      const length = Math.min(READ_BYTES, record.bytes - checksum.bytes);
      const data = await this.read(name, checksum.bytes, length);
      if (data.length < length) return false;
      checksum.add(data);
    }
    return checksum.crc32 === record.crc32;
  }

  #each<Value>(value: (name: Name) => Value): Record<Name, Value> {
    return Object.fromEntries(this.#names.map((name) => [name, value(name)])) as Record<
      Name,
      Value
    >;
  }
}
