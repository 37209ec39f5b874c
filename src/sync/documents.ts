/**
 * Keeps an index in step with documents that are values. The record of the index has a digest of
 * each document and its passages, so that those that did not change are not split again, which
 * would count their tokens.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ValueDocument } from "../documents/document-values.ts";
import { writePassages } from "../documents/passage-spool.ts";
import { fileId } from "../documents/passages/document-passages.ts";
import { createTemporaryDirectory } from "../io/create-directory.ts";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import type { Place } from "../retrieval/places/place.ts";
import type { Passage } from "../text/passage.ts";
import { readPassages } from "../text/read-passages.ts";
import { checkDeletions } from "./deletions.ts";
import {
  type FileRecord,
  type FolderRecord,
  readRecord,
  type Splitting,
  splittingOf,
  writeRecord,
} from "./record.ts";
import { type SyncTarget, updateTarget } from "./target.ts";

/** What became of a document. */
export interface DocumentChange {
  /** The id of the document. */
  readonly id: string;
  /** What happened to it. */
  readonly change: "added" | "replaced" | "deleted";
  /** The passages that it has now; of a deleted document, those that it had. */
  readonly passages: number;
}

export interface DocumentChanges {
  /** What was added, replaced or deleted. */
  readonly changes: readonly DocumentChange[];
  /** Number of documents that did not change. */
  readonly unchanged: number;
}

interface DocumentOptions {
  /** How the documents are split. */
  readonly splitting: Splitting;
  readonly signal?: AbortSignal | undefined;
}

/** What the index has of documents: the ids of their passages. */
type Known = ReadonlyMap<string, FileRecord>;

/**
 * Makes an index have these documents and no others. It builds the index if there is none.
 *
 * @param mayDelete whether more than half of the passages of the index may go
 * @throws {InputError} if there are no passages, an id occurs twice, or the index follows a folder
 */
export function synchroniseDocuments(
  documents: AsyncIterable<ValueDocument>,
  target: SyncTarget,
  { mayDelete, ...options }: DocumentOptions & { readonly mayDelete: boolean },
): Promise<void> {
  const { place } = target;
  return exclusively(place, options, async (file, { record, known, isIndexed }) => {
    if (record?.folder !== undefined) throw followsFolder(place.name, record.folder);
    const read = await readChanged(documents, file, known ?? new Map());
    const passages = readPassages(file, options.signal);
    if (read.ids.size === 0) await passages.next(); // says that there are none
    if (!isIndexed) await place.build(passages, target.keysOf(read.count));
    else {
      const all = known ? idsIn(known.values()) : await idsOf(place);
      const stale = all.filter((id) => !read.kept.has(id));
      const deleted = stale.filter((id) => !read.ids.has(id));
      if (known && read.count + deleted.length === 0) return;
      const gone = {
        source: "the passages that were given",
        ids: deleted,
        total: all.length,
        file,
      };
      if (!mayDelete) await checkDeletions(place, gone, options.signal);
      await updateTarget(target, { file, count: read.count }, { stale, deleted }, options.signal);
    }
    await writeKnown(place, new Map([...read.unchanged, ...read.changed]), options.splitting);
  });
}

/**
 * Adds documents to an index, or replaces them, and deletes others by their ids. Of other documents
 * it keeps everything.
 *
 * @throws {InputError} if an id occurs twice, or there is no index
 */
export function changeDocuments(
  { documents, deleted = [] }: DocumentsToChange,
  target: SyncTarget,
  options: DocumentOptions,
): Promise<DocumentChanges> {
  const { place } = target;
  return exclusively(place, options, async (file, { record, known }) => {
    await place.header(); // there must be an index
    const read = await readChanged(documents, file, known ?? new Map());
    const touched = new Set([...read.changed.keys(), ...deleted]);
    const before = known ?? (await knownByScan(place, touched));
    const stale = idsIn([...touched].flatMap((id) => before.get(id) ?? []));
    const gone = stale.filter((id) => !read.ids.has(id));
    if (read.count + gone.length > 0)
      await updateTarget(
        target,
        { file, count: read.count },
        { stale, deleted: gone },
        options.signal,
      );
    if (record && known) {
      const left = [...known].filter(([id]) => !touched.has(id));
      await writeKnown(place, new Map([...left, ...read.changed]), options.splitting);
    }
    return { changes: changesOf(read.changed, touched, before), unchanged: read.unchanged.size };
  });
}

interface DocumentsToChange {
  readonly documents: AsyncIterable<ValueDocument>;
  /** The ids of documents that go. */
  readonly deleted?: readonly string[] | undefined;
}

interface Before {
  readonly record: FolderRecord | undefined;
  /** All documents of the index; undefined if its record does not tell. */
  readonly known: Known | undefined;
  readonly isIndexed: boolean;
}

/** Does work with a file for passages, while nothing else synchronises the index. */
const exclusively = <Result>(
  place: Place,
  { splitting }: Pick<DocumentOptions, "splitting">,
  work: (file: string, before: Before) => Promise<Result>,
): Promise<Result> =>
  place.exclusively(async () => {
    const found = await place.find();
    const record = found && (await readRecord(place));
    const isOwn = record !== undefined && record.folder === undefined;
    const isCurrent = isOwn && record.generation === found?.generation;
    const isSplitAlike =
      JSON.stringify(record?.splitting) === JSON.stringify(splittingOf(splitting));
    const known = isCurrent && isSplitAlike ? new Map(Object.entries(record.files)) : undefined;
    const spool = await createTemporaryDirectory("sync");
    try {
      const before = { record, known, isIndexed: found !== undefined };
      return await work(join(spool, "passages.jsonl"), before);
    } finally {
      await rm(spool, { recursive: true, force: true });
    }
  });

interface Reading {
  readonly changed: ReadonlyMap<string, FileRecord>;
  readonly unchanged: Known;
  /** The ids of the passages of all documents that were given, and of the unchanged ones. */
  readonly ids: ReadonlySet<string>;
  readonly kept: ReadonlySet<string>;
  /** Passages of the changed documents. */
  readonly count: number;
}

/** Writes the passages of the documents that changed to `file`. */
async function readChanged(
  documents: AsyncIterable<ValueDocument>,
  file: string,
  known: Known,
): Promise<Reading> {
  const changed = new Map<string, FileRecord>();
  const unchanged = new Map<string, FileRecord>();
  const ids = new Set<string>();
  const kept = new Set<string>();
  const take = (id: string): void => {
    if (ids.has(id)) throw twice(id);
    ids.add(id);
  };
  async function* passages(): AsyncGenerator<Passage, void> {
    for await (const { id, hash, passages } of documents) {
      if (changed.has(id) || unchanged.has(id)) throw twice(id);
      const before = known.get(id);
      if (hash !== undefined && before?.hash === hash) {
        for (const own of before.ids) {
          take(own);
          kept.add(own);
        }
        unchanged.set(id, before);
        continue;
      }
      const own: string[] = [];
      for await (const passage of passages()) {
        take(passage.id);
        own.push(passage.id);
        yield passage;
      }
      changed.set(id, { ...(hash !== undefined && { hash }), ids: own });
    }
  }
  await writePassages(file, passages());
  return { changed, unchanged, ids, kept, count: ids.size - kept.size };
}

function changesOf(
  changed: Known,
  touched: ReadonlySet<string>,
  before: Known,
): readonly DocumentChange[] {
  const countOf = (documents: Known, id: string): number => documents.get(id)?.ids.length ?? 0;
  return [...touched].flatMap((id): DocumentChange[] => {
    const [had, has] = [countOf(before, id), countOf(changed, id)];
    if (has > 0) return [{ id, change: had > 0 ? "replaced" : "added", passages: has }];
    return had > 0 ? [{ id, change: "deleted", passages: had }] : [];
  });
}

/**
 * The passages that the index has of documents: the one of the id, those of which it is the
 * document, and those that were split from it (`ID#1`). It reads all passages.
 */
async function knownByScan(place: Place, wanted: ReadonlySet<string>): Promise<Known> {
  const found = new Map<string, { readonly ids: string[] }>();
  const byStart = new Map([...wanted].map((id) => [fileId(id), id]));
  await using index = await place.read();
  for await (const { id, document } of index.passages())
    for (const owner of new Set([id, document, byStart.get(id.split("#", 1)[0]!)])) {
      if (owner === undefined || !wanted.has(owner)) continue;
      const known = found.get(owner) ?? { ids: [] };
      known.ids.push(id);
      found.set(owner, known);
    }
  return found;
}

const idsIn = (documents: Iterable<FileRecord>): string[] =>
  [...documents].flatMap(({ ids }) => ids);

/** The ids of all passages of an index. */
async function idsOf(place: Place): Promise<string[]> {
  await using index = await place.read();
  const ids: string[] = [];
  for await (const { id } of index.passages()) ids.push(id);
  return ids;
}

async function writeKnown(place: Place, documents: Known, splitting: Splitting): Promise<void> {
  await writeRecord(place, {
    splitting: splittingOf(splitting),
    failed: {},
    generation: (await place.find())!.generation,
    files: Object.fromEntries(documents),
  });
}

const followsFolder = (where: string, folder: string): InputError =>
  new InputError({
    where,
    expected: "an index of passages",
    got: `one that follows the folder ${folder}`,
    remedy: "use another index, or give the folder",
  });

const twice = (id: string): InputError =>
  new InputError({
    where: "documents",
    expected: "an id of its own for each document and passage",
    got: `${excerpt(id)} twice`,
    remedy: "give each another id",
  });
