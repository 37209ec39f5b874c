/**
 * Finds the entries of a zip archive whose entries are stored without compression, as torch writes
 * them.
 *
 * yauzl parses the archive, zip64 included. It checks signatures, sizes and the bounds of the file.
 * This module adds the checks that a hostile checkpoint needs (a bounded directory, unique names,
 * stored entries) and gives the position of an entry's data, so that a caller can read any part of
 * them.
 *
 * Format: APPNOTE.TXT 6.3.10, https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
 */

import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader } from "yauzl";
import { InputError } from "../io/errors.ts";
import type { InputFile } from "../io/input-file.ts";

const MAX_DIRECTORY_BYTES = 1_000_000; // a checkpoint of 1,000 tensors has 90 kB
const STORED = 0; // compression method, section 4.4.5
const LOCAL_HEADER_BYTES = 30; // at least, section 4.3.7
const DIRECTORY_ENTRY_BYTES = 46; // without name, extra field and comment, section 4.3.12

export interface ZipEntry {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Position of the first byte of the data in the file. Reads the entry's local header. */
  findData(): Promise<number>;
}

/**
 * Lists the entries by name without reading their data.
 *
 * @throws {InputError} if the file is not a zip archive, is truncated, or has a compressed or
 * encrypted entry.
 */
export async function readZipDirectory(file: InputFile): Promise<Map<string, ZipEntry>> {
  const zip = await parsing(file, fromRandomAccessReaderPromise(new FileReader(file), file.size));
  const entries = new Map<string, ZipEntry>();
  let directoryBytes = 0;
  const listing = zip.eachEntry();
  for (;;) {
    const { done, value: entry } = await parsing(file, listing.next());
    if (done) return entries;
    directoryBytes += DIRECTORY_ENTRY_BYTES + entry.fileNameLength;
    directoryBytes += entry.extraFieldLength + entry.fileCommentLength;
    if (directoryBytes > MAX_DIRECTORY_BYTES)
      throw damaged(file, `a directory of at most ${MAX_DIRECTORY_BYTES} bytes`, "a larger one");
    const { fileName: name, uncompressedSize: size } = entry;
    checkEntry(file, entry);
    if (entries.has(name)) throw damaged(file, "one entry a name", `two of ${name}`);
    const findData = async (): Promise<number> => {
      const header = zip.readLocalFileHeaderPromise(entry, { minimal: true });
      return (await parsing(file, header)).fileDataStart;
    };
    entries.set(name, { name, size, findData });
  }
}

function checkEntry(file: InputFile, entry: Entry): void {
  const { fileName: name, uncompressedSize: size, relativeOffsetOfLocalHeader: position } = entry;
  if (entry.compressionMethod !== STORED || entry.isEncrypted())
    throw damaged(file, `${name} stored as it is`, "it compressed or encrypted");
  if (position + LOCAL_HEADER_BYTES + size > file.size)
    throw damaged(file, `${size} bytes of ${name}`, "fewer");
}

/** Gives yauzl an open `InputFile` to read from. The caller closes the file. */
class FileReader extends RandomAccessReader {
  readonly #file: InputFile;

  constructor(file: InputFile) {
    super();
    this.#file = file;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    this.#file.read(position, length).then(
      (bytes) => callback(null, bytes.copy(buffer, offset)),
      (error) => callback(error),
    );
  }

  override close(callback: (error: Error | null) => void): void {
    callback(null);
  }
}

/** Awaits yauzl. Reports its errors as `InputError`. */
async function parsing<Result>(file: InputFile, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    throw damaged(file, "a whole zip archive", (cause as Error).message, cause);
  }
}

function damaged(file: InputFile, expected: string, got: string, cause?: unknown): InputError {
  const remedy =
    "the file is truncated or damaged, or was not written by torch.save; download it again";
  return new InputError({ where: file.path, expected, got, remedy }, { cause });
}
