/**
 * The corpus of a training run: its ids, its digest, random access to its passages, and BM25.
 *
 * The file is read once to find where each passage begins. After that, passages are read by their
 * byte offsets, so the texts are not held in memory. A gzip file cannot be read at an offset: its
 * passages are copied to a temporary file.
 */

import { createHash } from "node:crypto";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { createTemporaryDirectory } from "../../io/create-directory.ts";
import { InputError, systemProblem } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import { parseJsonLine } from "../../io/json/json-lines.ts";
import { type OpenFile, openFile } from "../../io/open-file.ts";
import { type Bm25, buildBm25 } from "../../retrieval/bm25/bm25.ts";
import type { Passage } from "../../text/passage.ts";
import { type PassageLine, parsePassage, readPassageLines } from "../../text/read-passages.ts";

export interface Corpus extends AsyncDisposable {
  readonly file: string;
  /** In the order of the file. */
  readonly ids: readonly string[];
  /** Number of passages. */
  readonly size: number;
  /** SHA-256 of all passages. A run is resumed only with a corpus of the same digest. */
  readonly digest: string;
  /**
   * Streams the passages whose id is accepted, in the order of the file. Default: all of them.
   *
   * @throws {InputError} if the file has changed since it was opened.
   */
  passages(accept?: (id: string) => boolean): AsyncGenerator<Passage, void>;
  /**
   * The passages with the given ids, in the order of the file. They are held in memory: a million
   * passages of 100 words take about 0.9 GB.
   *
   * @throws {InputError} if the file has changed, or the corpus has no such passage.
   */
  pick(ids: Iterable<string>): Promise<Map<string, Passage>>;
  /**
   * BM25 over all passages, which reads them again. It is built once and kept: `buildBm25` states
   * its size.
   */
  bm25(): Promise<Bm25>;
}

export interface CorpusOptions {
  readonly signal?: AbortSignal | undefined;
}

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]); // RFC 1952, section 2.3.1
const NEWLINE = 0x0a;
/** Neighbouring passages are read together, up to this number of bytes. */
const READ_BYTES = 2 ** 18;
/** Passages at most this far apart are neighbours: a disk reads at least a page of 4 KiB. */
const MAX_GAP_BYTES = 2 ** 12;
const PASSAGES_PER_WRITE = 1_000;

/** Where passages are read from: the corpus file, or a temporary copy of a gzip file's passages. */
interface PassageStore {
  readonly handle: OpenFile;
  readonly isCopy: boolean;
}

/** What reading the file once tells. */
interface Survey {
  readonly ids: readonly string[];
  readonly digest: string;
  /** Byte offset of each passage in the store, and the end of the last one. [passages + 1] */
  readonly offsets: Float64Array;
}

/** Reads a corpus once and opens it. @throws {InputError} as `readPassages` does. */
export async function openCorpus(file: string, options: CorpusOptions = {}): Promise<Corpus> {
  const version = await versionOf(file);
  const store = await openStore(file);
  try {
    return createCorpus(file, version, store, await survey(file, store, options), options);
  } catch (error) {
    await store.handle.close();
    throw error;
  }
}

function createCorpus(
  file: string,
  version: string,
  { handle }: PassageStore,
  { ids, digest, offsets }: Survey,
  { signal }: CorpusOptions,
): Corpus {
  let bm25: Promise<Bm25> | undefined;
  const checkUnchanged = async (): Promise<void> => {
    if ((await versionOf(file)) !== version) throw corpusChanged(file);
  };
  async function* passages(accept = (_: string): boolean => true): AsyncGenerator<Passage, void> {
    await checkUnchanged();
    for (const places of neighbours(ids, offsets, accept)) {
      signal?.throwIfAborted();
      const start = offsets[places[0]!]!;
      const bytes = Buffer.alloc(offsets[places.at(-1)! + 1]! - start);
      await handle.read(bytes, 0, bytes.length, start);
      for (const place of places)
        yield passageAt(bytes.subarray(offsets[place]! - start), ids[place]!, file);
    }
    await checkUnchanged();
  }
  return {
    file,
    ids,
    size: ids.length,
    digest,
    passages,
    async pick(wanted) {
      const missing = new Set(wanted);
      const picked = new Map<string, Passage>();
      for await (const passage of passages((id) => missing.has(id)))
        picked.set(passage.id, passage);
      for (const id of picked.keys()) missing.delete(id);
      if (missing.size > 0) throw passagesMissing(file, missing, picked.size);
      return picked;
    },
    bm25: () => (bm25 ??= buildBm25(passages(), { signal })),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Reads all passages, and copies those of a gzip file. */
async function survey(
  file: string,
  { handle, isCopy }: PassageStore,
  { signal }: CorpusOptions,
): Promise<Survey> {
  const ids: string[] = [];
  const offsets: number[] = [];
  const hash = createHash("sha256");
  const lines = readPassageLines(file, signal);
  for await (const { passage, offset } of isCopy ? copied(lines, handle) : lines) {
    ids.push(passage.id);
    offsets.push(offset);
    hash.update(JSON.stringify([passage.id, passage.title, passage.text]));
  }
  offsets.push((await handle.stat()).size);
  return { ids, digest: hash.digest("hex"), offsets: Float64Array.from(offsets) };
}

/** Writes passages as JSON Lines, and yields each with its offset there. */
async function* copied(
  lines: AsyncIterable<PassageLine>,
  handle: OpenFile,
): AsyncGenerator<PassageLine, void> {
  let pending: Buffer[] = [];
  let offset = 0;
  for await (const { passage } of lines) {
    yield { passage, offset };
    const line = Buffer.from(`${JSON.stringify(passage)}\n`);
    offset += line.length;
    if (pending.push(line) < PASSAGES_PER_WRITE) continue;
    await handle.writeFile(Buffer.concat(pending));
    pending = [];
  }
  await handle.writeFile(Buffer.concat(pending));
}

/** The places of the accepted passages, in groups that are read together. */
function* neighbours(
  ids: readonly string[],
  offsets: Float64Array,
  accept: (id: string) => boolean,
): Generator<number[], void> {
  let group: number[] = [];
  for (let place = 0; place < ids.length; place++) {
    if (!accept(ids[place]!)) continue;
    const isNear =
      group.length > 0 &&
      offsets[place]! - offsets[group.at(-1)! + 1]! <= MAX_GAP_BYTES &&
      offsets[place + 1]! - offsets[group[0]!]! <= READ_BYTES;
    if (isNear) group.push(place);
    else {
      if (group.length > 0) yield group;
      group = [place];
    }
  }
  if (group.length > 0) yield group;
}

function passageAt(bytes: Buffer, id: string, file: string): Passage {
  const end = bytes.indexOf(NEWLINE);
  try {
    const line = end === -1 ? bytes : bytes.subarray(0, end);
    const passage = parsePassage(parseJsonLine(line, file), file);
    if (passage.id === id) return passage;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
  }
  throw corpusChanged(file);
}

async function openStore(file: string): Promise<PassageStore> {
  const handle = await openFile(file).catch((error: unknown) => {
    throw cannotRead(file, error);
  });
  const { buffer } = await handle.read(Buffer.alloc(GZIP_MAGIC.length), 0, GZIP_MAGIC.length, 0);
  if (!buffer.equals(GZIP_MAGIC)) return { handle, isCopy: false };
  await handle.close();
  return { handle: await openTemporaryFile(), isCopy: true };
}

/** Its name is removed at once, so nothing is left even if the process is killed. */
async function openTemporaryFile(): Promise<OpenFile> {
  const folder = await createTemporaryDirectory("corpus-copy");
  try {
    return await openFile(join(folder, "passages.jsonl"), "wx+");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Size and time of modification. */
async function versionOf(file: string): Promise<string> {
  const stats = await stat(file, { bigint: true }).catch((error: unknown) => {
    throw cannotRead(file, error);
  });
  if (!stats.isFile()) throw cannotRead(file, new Error("no regular file"));
  return `${stats.size} ${stats.mtimeNs}`;
}

const cannotRead = (where: string, cause: unknown): InputError =>
  new InputError(
    { where, expected: "a JSON Lines file", got: systemProblem(cause), remedy: "check the path" },
    { cause },
  );

/** The error for a corpus that is not the one that a run began with. */
export const corpusChanged = (file: string): InputError =>
  new InputError({
    where: file,
    expected: "the corpus that the run began with",
    got: "another one",
    remedy: "put the old file back, or begin a new run",
  });

function passagesMissing(file: string, missing: ReadonlySet<string>, found: number): InputError {
  const [first] = missing;
  return new InputError({
    where: file,
    expected: `${found + missing.size} passages that training needs`,
    got: `${missing.size} of them not there, the first ${excerpt(first)}`,
    remedy: "name the corpus that the ids of the training file are of",
  });
}
