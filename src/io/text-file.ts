/** Lines of UTF-8 text files, plain or gzip (RFC 1952), read in bounded memory. */

import { isUtf8 } from "node:buffer";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { InputError, inputErrorFrom } from "./errors.ts";
import { chunksOf, type OpenFile, openFile } from "./open-file.ts";

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]); // RFC 1952, 2.3.1
const NEWLINE = 0x0a;
/** A whole book has 1 to 5 MB. The limit protects the memory from a file without line breaks. */
const MAX_LINE_BYTES = 64 * 2 ** 20;

export interface TextLine {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
  /** Bytes before the line; of a gzip file, in the decompressed text. */
  readonly offset: number;
  /** `FILE:LINE`, for error messages. */
  readonly where: string;
}

/**
 * Reads the lines of a file without their line breaks. The first bytes of the file decide whether
 * it is gzip. A byte order mark is removed. `expected` describes the file in errors: "a JSON Lines
 * file".
 *
 * @throws {InputError} with file and line: no such file, damaged gzip, not UTF-8, a line over 64
 * MiB.
 */
export async function* readTextLines(
  file: string,
  expected: string,
  signal?: AbortSignal,
): AsyncGenerator<TextLine, void> {
  let line = 0;
  let offset = 0;
  let handle: OpenFile | undefined;
  try {
    handle = await openFile(file);
    for await (const bytes of splitLines(await decompressed(handle, signal), file)) {
      line++;
      const where = `${file}:${line}`;
      yield { line, offset, where, text: decodeUtf8(bytes, where) };
      offset += bytes.length + 1; // the line break
    }
  } catch (error) {
    throw readErrorFrom(error, file, expected, `${file}:${line + 1}`);
  } finally {
    await handle?.close();
  }
}

async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  file: string,
): AsyncGenerator<Buffer, void> {
  let line = 1;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...pending, chunk.subarray(start, end)]);
      [pending, pendingBytes] = [[], 0];
      start = end + 1;
      line++;
    }
    pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > MAX_LINE_BYTES) throw lineTooLong(`${file}:${line}`);
  }
  if (pendingBytes > 0) yield Buffer.concat(pending);
}

async function decompressed(handle: OpenFile, signal?: AbortSignal): Promise<Readable> {
  const { buffer } = await handle.read(Buffer.alloc(GZIP_MAGIC.length), 0, GZIP_MAGIC.length, 0);
  signal?.throwIfAborted(); // an aborted stream would emit its error before anyone listens
  const source = Readable.from(chunksOf(handle, 0), {
    objectMode: false,
    ...(signal && { signal }),
  });
  // The last stream of a pipeline reports the errors of all streams, so the callback has nothing to
  // do.
  return isGzip(buffer) ? pipeline(source, createGunzip(), () => {}) : source;
}

export function isGzip(bytes: Uint8Array): boolean {
  return GZIP_MAGIC.equals(bytes.subarray(0, GZIP_MAGIC.length));
}

/** Decodes UTF-8 and removes a byte order mark. @throws {InputError} if the bytes are not UTF-8. */
export function decodeUtf8(bytes: Buffer, where: string): string {
  if (isUtf8(bytes)) return bytes.toString("utf8").replace(/^\ufeff/, "");
  throw new InputError({
    where,
    expected: "UTF-8 text",
    got: "bytes that are not UTF-8",
    remedy: "convert the file to UTF-8",
  });
}

/**
 * The `InputError` for an error of the file system or of zlib. Returns any other error unchanged,
 * an abort for example.
 */
export function readErrorFrom(
  error: unknown,
  file: string,
  expected: string,
  where: string = file,
): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!code?.startsWith("Z_"))
    return inputErrorFrom(error, { where: file, expected, remedy: "check the path" });
  return new InputError(
    { where, expected: "a whole gzip file", got: message, remedy: "download it again" },
    { cause: error },
  );
}

function lineTooLong(where: string): InputError {
  return new InputError({
    code: "ERR_REATT_TOO_LARGE",
    where,
    expected: `a line of at most ${MAX_LINE_BYTES / 2 ** 20} MiB`,
    got: "a longer one",
    remedy: "write one record a line, and split long documents into passages",
  });
}
