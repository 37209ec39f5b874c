/** The records of a file that is JSON Lines, or else one JSON array: the two ways in which training data are handed around. */

import { constants, isUtf8 } from "node:buffer";
import { open, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip, gunzipSync, constants as zlib } from "node:zlib";
import { InputError } from "./errors.ts";
import { readJsonLines } from "./json-lines.ts";

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]); // RFC 1952, 2.3.1
const HEAD_BYTES = 4_096; // white space in front of an array is seldom more than a line break
const MAX_ARRAY_BYTES = constants.MAX_STRING_LENGTH; // JSON.parse takes one string: 512 MiB in Node 20

export interface JsonRecord {
  /** `FILE:LINE`, or `FILE[INDEX]` of an array. */
  readonly where: string;
  readonly value: unknown;
}

/**
 * Reads the records of a file, plain or gzip. JSON Lines are streamed; an array is read whole, and takes some four times its
 * size until it is read.
 *
 * @throws {InputError} as `readJsonLines` does, and for an array that is not whole, not UTF-8 or over 512 MiB.
 */
export async function* readJsonRecords(
  file: string,
  signal?: AbortSignal,
): AsyncGenerator<JsonRecord, void> {
  if (await isArray(file)) {
    for (const [index, value] of (await readArray(file, signal)).entries())
      yield { where: `${file}[${index}]`, value };
  } else {
    for await (const { line, value } of readJsonLines(file, signal))
      yield { where: `${file}:${line}`, value };
  }
}

async function isArray(file: string): Promise<boolean> {
  try {
    return (await readHead(file))
      .toString("utf8")
      .replace(/^\ufeff/, "")
      .trimStart()
      .startsWith("[");
  } catch {
    return false; // the reader of lines says what is wrong with the file
  }
}

async function readHead(file: string): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const head = buffer.subarray(0, bytesRead);
    return isGzip(head) ? gunzipSync(head, { finishFlush: zlib.Z_SYNC_FLUSH }) : head;
  } finally {
    await handle.close();
  }
}

async function readArray(file: string, signal?: AbortSignal): Promise<unknown[]> {
  try {
    const bytes = await readFile(file, { signal });
    const plain = isGzip(bytes)
      ? await promisify(gunzip)(bytes, { maxOutputLength: MAX_ARRAY_BYTES })
      : bytes;
    if (!isUtf8(plain))
      throw unreadable(file, "bytes that are not UTF-8", "convert the file to UTF-8");
    return JSON.parse(plain.toString("utf8").replace(/^\ufeff/, ""));
  } catch (error) {
    throw explain(error as NodeJS.ErrnoException, file);
  }
}

const isGzip = (bytes: Buffer): boolean => bytes.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC);

function explain(error: NodeJS.ErrnoException, file: string): Error {
  const { code, message } = error;
  if (error instanceof SyntaxError)
    return unreadable(file, message, "see that the file is whole", error);
  if (code?.startsWith("Z_"))
    return unreadable(file, `damaged gzip: ${message}`, "fetch it again", error);
  if (
    code === "ERR_STRING_TOO_LONG" ||
    code === "ERR_BUFFER_TOO_LARGE" ||
    code === "ERR_FS_FILE_TOO_LARGE"
  )
    return unreadable(
      file,
      "more than 512 MiB of it",
      "write one record a line: jq -c '.[]'",
      error,
    );
  return error;
}

const unreadable = (where: string, got: string, remedy: string, cause?: Error): InputError =>
  new InputError({ where, expected: "a JSON array", got, remedy }, { cause });
