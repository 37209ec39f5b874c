/** JSON Lines, plain or gzip: one JSON value a line, UTF-8. Format: https://jsonlines.org */

import { isUtf8 } from "node:buffer";
import { type FileHandle, open } from "node:fs/promises";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { InputError } from "./errors.ts";

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]); // RFC 1952, 2.3.1
const NEWLINE = 0x0a;
/** A whole book is 1-5 MB; a file without line breaks must not fill the memory before it is refused. */
const MAX_LINE_BYTES = 64 * 2 ** 20;
/** Characters of a bad line that an error shows. */
const EXCERPT_LENGTH = 40;

/** One value of a JSON Lines file. */
export interface JsonLine {
  /** Counted from 1, blank lines included, as editors count. */
  readonly line: number;
  /** Bytes before the line; of a gzip file, in the decompressed text. */
  readonly offset: number;
  readonly value: unknown;
}

/**
 * Reads a JSON Lines file in bounded memory. Gzip is recognised by its first bytes, whatever the name. A byte order mark,
 * CRLF and blank lines are tolerated.
 *
 * @throws {InputError} with file and line: no such file, damaged gzip, not UTF-8, not JSON, a line over 64 MiB.
 */
export async function* readJsonLines(
  file: string,
  signal?: AbortSignal,
): AsyncGenerator<JsonLine, void> {
  let line = 0;
  let offset = 0;
  for await (const bytes of readLines(file, signal)) {
    line++;
    const text = decodeLine(bytes, `${file}:${line}`);
    if (text.trim() !== "") yield { line, offset, value: parseLine(text, `${file}:${line}`) };
    offset += bytes.length + 1;
  }
}

/** Parses one line of a JSON Lines file. @throws {InputError} if it is not UTF-8 or not JSON. */
export function parseJsonLine(bytes: Buffer, where: string): unknown {
  return parseLine(decodeLine(bytes, where), where);
}

async function* readLines(file: string, signal?: AbortSignal): AsyncGenerator<Buffer, void> {
  let line = 1;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    for await (const chunk of (await decompressed(handle, signal)) as AsyncIterable<Buffer>) {
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
  } catch (error) {
    throw explainReadError(error, file, line);
  } finally {
    await handle?.close();
  }
}

async function decompressed(handle: FileHandle, signal?: AbortSignal): Promise<Readable> {
  const { buffer } = await handle.read(Buffer.alloc(GZIP_MAGIC.length), 0, GZIP_MAGIC.length, 0);
  signal?.throwIfAborted(); // a stream that begins aborted has its error before anyone listens
  const source = handle.createReadStream({ start: 0, autoClose: false, ...(signal && { signal }) });
  // The reader of the last stream of a pipeline gets the errors of all its streams, so the callback has nothing to do.
  return buffer.equals(GZIP_MAGIC) ? pipeline(source, createGunzip(), () => {}) : source;
}

function decodeLine(bytes: Buffer, where: string): string {
  if (!isUtf8(bytes)) {
    const got = "bytes that are not UTF-8";
    throw new InputError({
      where,
      expected: "UTF-8 text",
      got,
      remedy: "convert the file to UTF-8",
    });
  }
  return bytes.toString("utf8").replace(/^\ufeff/, "");
}

function parseLine(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const excerpt = text.trim().slice(0, EXCERPT_LENGTH);
    const got = JSON.stringify(excerpt.length < text.trim().length ? `${excerpt}…` : excerpt);
    throw new InputError(
      { where, expected: "one JSON object", got, remedy: "write one JSON object a line" },
      { cause },
    );
  }
}

function lineTooLong(where: string): InputError {
  return new InputError({
    where,
    expected: `a line of at most ${MAX_LINE_BYTES / 2 ** 20} MiB`,
    got: "a longer one",
    remedy: "write one JSON object a line, and split long documents into passages",
  });
}

/** Errors of the file system and of zlib in words; anything else, an abort among them, as it is. */
function explainReadError(error: unknown, file: string, line: number): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (code?.startsWith("Z_")) {
    return new InputError(
      {
        where: `${file}:${line}`,
        expected: "a whole gzip file",
        got: message,
        remedy: "fetch it again",
      },
      { cause: error },
    );
  }
  if (code === undefined || syscall === undefined) return error;
  const got = { ENOENT: "no such file", EISDIR: "a directory", EACCES: "no permission to read it" }[
    code
  ];
  return new InputError(
    { where: file, expected: "a JSON Lines file", got: got ?? message, remedy: "check the path" },
    { cause: error },
  );
}
