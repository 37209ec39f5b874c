/**
 * Keeps an index in step with a folder of documents: adds, replaces and deletes the passages of the
 * files that changed, in one transaction of the index. record.ts explains what happens after a
 * crash.
 */

import { realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { type SourceFile, sourceFile } from "../documents/file/source-file.ts";
import { writePassages } from "../documents/passage-spool.ts";
import {
  PART,
  type ResolvedReadOptions,
  readFile,
  type SkippedFile,
  withoutText,
} from "../documents/read-documents.ts";
import { createTemporaryDirectory } from "../io/create-directory.ts";
import { InputError, inputErrorFrom } from "../io/errors.ts";
import type { BuildProgress } from "../retrieval/index/write/build.ts";
import type { Place } from "../retrieval/places/place.ts";
import type { Passage } from "../text/passage.ts";
import { readPassages } from "../text/read-passages.ts";
import { type Comparison, compareFolder, type FoundFile } from "./compare.ts";
import { checkDeletions } from "./deletions.ts";
import { type FileRecord, failuresOf, readRecord, splittingOf, writeRecord } from "./record.ts";
import { type SyncTarget, updateTarget } from "./target.ts";

/** What became of a file. */
export interface FileChange {
  /** The path relative to the folder. */
  readonly file: string;
  /** What happened to the file since the index was last in step. */
  readonly change: "added" | "replaced" | "deleted";
  /** The passages that the file has now; of a deleted file, those that it had. */
  readonly passages: number;
}

export interface SyncResult {
  /** The files that changed. */
  readonly changes: readonly FileChange[];
  /** Number of files whose contents did not change. */
  readonly unchanged: number;
  /** Files without text, and damaged files. The index keeps what it had of the damaged ones. */
  readonly skipped: readonly SkippedFile[];
}

/** The changed files are read, then their `total` passages are indexed. */
export type SyncProgress =
  | { readonly event: "reading"; readonly files: number; readonly total: number }
  | (BuildProgress & { readonly total: number });

/** How the changed files are read. */
export interface SyncReadOptions extends Omit<ResolvedReadOptions, "onProgress"> {
  /** Whether more than half of the passages may go with their files. */
  readonly mayDelete: boolean;
  readonly onProgress?: ((progress: SyncProgress) => void) | undefined;
}

/** The passages of the changed files. */
interface Reading {
  /** The ids of each file. */
  readonly ids: ReadonlyMap<string, readonly string[]>;
  /** The files of which only the part before the damage was read. */
  readonly damaged: ReadonlySet<string>;
  readonly count: number;
  readonly skipped: readonly SkippedFile[];
}

/** @throws {InputError} if the folder cannot be read, or the index belongs to another folder */
export async function synchronise(
  folder: string,
  target: SyncTarget,
  options: SyncReadOptions,
): Promise<SyncResult> {
  const { place } = target;
  const root = await realpath(folder).catch((error: unknown) => {
    const expected = "a folder of documents";
    throw inputErrorFrom(error, { where: folder, expected, remedy: "check the path" });
  });
  if (place.folder) await checkOutside(root, place.address);
  return place.exclusively(async () => {
    const generation = (await place.find())?.generation;
    const { known, failed: lastFailed } = await knownFiles(place, root, options, generation);
    const comparison = await compareFolder(root, place.address, known, options);
    const spool = await createTemporaryDirectory("sync");
    try {
      const file = join(spool, "passages.jsonl");
      const reading = await readChanged(comparison.changed, file, options);
      const work = { root, known, lastFailed, comparison, reading, file, generation };
      return await apply(work, target, options);
    } finally {
      await rm(spool, { recursive: true, force: true });
    }
  });
}

interface Work {
  readonly root: string;
  readonly known: ReadonlyMap<string, FileRecord>;
  /** Why files, or parts of them, could not be read the last time. */
  readonly lastFailed: ReadonlyMap<string, string>;
  readonly comparison: Comparison;
  readonly reading: Reading;
  /** The passages of the changed files, as JSON Lines. */
  readonly file: string;
  /** Before the work; undefined if there is no index. */
  readonly generation: number | undefined;
}

async function apply(
  { root, known, lastFailed, comparison, reading, file, generation }: Work,
  target: SyncTarget,
  options: SyncReadOptions,
): Promise<SyncResult> {
  const { changed, unchanged, removed } = comparison;
  const idsOf = (name: string): readonly string[] => known.get(name)?.ids ?? [];
  const read = changed.filter(({ name }) => reading.ids.has(name));
  const newIds = new Set([...reading.ids.values()].flat());
  const whole = read.map(({ name }) => name).filter((name) => !reading.damaged.has(name));
  const stale = [...whole, ...removed].flatMap(idsOf); // what is behind a damage stays
  const deleted = stale.filter((id) => !newIds.has(id));
  if (!options.mayDelete && generation !== undefined) {
    const emptied = whole.filter((name) => reading.ids.get(name)!.length === 0);
    const ids = [...removed, ...emptied].flatMap(idsOf).filter((id) => !newIds.has(id));
    const total = [...known.values()].reduce((sum, file) => sum + file.ids.length, 0);
    await checkDeletions(target.place, { source: root, ids, total, file }, options.signal);
  }

  const failed = {
    ...Object.fromEntries([...lastFailed].filter(([name]) => unchanged.has(name))),
    ...failuresOf([...comparison.skipped, ...reading.skipped]),
  };
  const next = new Map<string, FileRecord>([...known, ...unchanged]);
  const record = (generation: number) =>
    writeRecord(target.place, {
      folder: root,
      include: options.include,
      ignore: options.ignore,
      failed,
      generation,
      splitting: splittingOf(options),
      files: Object.fromEntries(next),
    });
  for (const { name } of read)
    next.set(name, { ids: [...new Set([...idsOf(name), ...reading.ids.get(name)!])] });
  for (const name of removed) next.set(name, { ids: idsOf(name) });
  if (read.length > 0 || removed.length > 0) await record(generation ?? 0);

  if (generation !== undefined) {
    const news = { file, count: reading.count };
    await updateTarget(target, news, { stale, deleted }, options.signal);
  } else if (reading.count > 0) {
    const passages = readPassages(file, options.signal);
    await target.place.build(passages, target.keysOf(reading.count));
  } else throw nothingToIndex(root);

  for (const { name, version, hash } of read)
    if (!reading.damaged.has(name)) next.set(name, { version, hash, ids: reading.ids.get(name)! });
  for (const name of removed) next.delete(name);
  await record((await target.place.find())!.generation);
  return {
    changes: [...changesOf(read, removed, known, reading)],
    unchanged: unchanged.size,
    skipped: [...comparison.skipped, ...reading.skipped],
  };
}

function* changesOf(
  read: readonly FoundFile[],
  removed: readonly string[],
  known: ReadonlyMap<string, FileRecord>,
  { ids, damaged }: Reading,
): Generator<FileChange> {
  for (const { name } of read) {
    const [before, now] = [known.get(name)?.ids.length ?? 0, ids.get(name)!.length];
    if (damaged.has(name) && before > 0) continue; // its passages stay until it can be read
    if (before + now > 0)
      yield { file: name, change: before > 0 ? "replaced" : "added", passages: now };
  }
  for (const name of removed)
    yield { file: name, change: "deleted", passages: known.get(name)!.ids.length };
}

/** @throws {InputError} if the index is the folder itself, whose files would count as its own */
async function checkOutside(root: string, directory: string): Promise<void> {
  const index = await realpath(directory).catch(() => undefined); // it may not be there yet
  if (index === root)
    throw new InputError({
      where: directory,
      expected: "a folder for the index alone",
      got: "the folder of the documents",
      remedy: "name another folder for the index; it may be in that of the documents",
    });
}

/**
 * What the index has of each file, and why files or parts of them could not be read. Without a
 * hash, the file must be read again.
 */
async function knownFiles(
  place: Place,
  root: string,
  options: SyncReadOptions,
  generation: number | undefined,
): Promise<{
  readonly known: ReadonlyMap<string, FileRecord>;
  readonly failed: ReadonlyMap<string, string>;
}> {
  const record = await readRecord(place);
  if (!record || generation === undefined) return { known: new Map(), failed: new Map() };
  if (record.folder !== root) throw anotherSource(place.name, record.folder, root);
  const files = Object.entries(record.files);
  const forget = ([name, { ids }]: [string, FileRecord]): [string, FileRecord] => [name, { ids }];
  const failed = new Map(Object.entries(record.failed));
  if (JSON.stringify(record.splitting) !== JSON.stringify(splittingOf(options)))
    return { known: new Map(files.map(forget)), failed };
  if (record.generation === generation) return { known: new Map(files), failed };
  const has = await whichAreIndexed(place, files);
  return { known: new Map(files.map((one) => (has.has(one[0]) ? one : forget(one)))), failed };
}

/** The files all of whose passages the index has. Another program may have changed the index. */
async function whichAreIndexed(
  place: Place,
  files: readonly (readonly [name: string, record: FileRecord])[],
): Promise<Set<string>> {
  await using index = await place.read();
  const isIndexed = async (id: string): Promise<boolean> => (await index.find(id)) !== undefined;
  const whole = new Set<string>();
  for (const [name, { ids }] of files) {
    let isWhole = true;
    for (const id of ids) isWhole &&= await isIndexed(id);
    if (isWhole) whole.add(name);
  }
  return whole;
}

/** Writes the passages of the changed files to `file`. */
async function readChanged(
  changed: readonly FoundFile[],
  file: string,
  options: SyncReadOptions,
): Promise<Reading> {
  const ids = new Map<string, readonly string[]>();
  const damaged = new Set<string>();
  const skipped: SkippedFile[] = [];
  let count = 0;
  const skip = (file: string, problem: InputError): void => {
    skipped.push({ file, isUnknownFormat: false, isPart: false, isDamage: true, problem });
  };
  async function* passages(): AsyncGenerator<Passage, void> {
    for (const [done, { path, name }] of changed.entries()) {
      options.onProgress?.({ event: "reading", files: done, total: changed.length });
      const own: string[] = [];
      try {
        const report: SourceFile["report"] = (problem, isDamage = false) =>
          void skipped.push({ ...PART, file: name, isDamage, problem });
        const source = sourceFile(path, name, { ...options, report });
        for await (const passage of readFile(source, options)) {
          own.push(passage.id);
          yield passage;
        }
        ids.set(name, own);
        if (own.length === 0) skip(name, withoutText(source));
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        skip(name, error);
        if (own.length === 0) continue;
        ids.set(name, own); // the part before the damage
        damaged.add(name);
      } finally {
        count += own.length;
      }
    }
  }
  await writePassages(file, passages());
  return { ids, damaged, count, skipped };
}

const anotherSource = (where: string, folder: string | undefined, got: string): InputError =>
  new InputError({
    where,
    expected: folder === undefined ? "documents as values" : `the folder ${folder}`,
    got,
    remedy: "use another index",
  });

const nothingToIndex = (where: string): InputError =>
  new InputError({
    where,
    expected: "documents with text",
    got: "none",
    remedy: "check the path, and .gitignore and .reattignore",
  });
