/**
 * Records of a file that is JSON Lines, one JSON array, or one JSON object over several lines. All
 * are common for training data.
 */

import { constants } from "node:buffer";
import { promisify } from "node:util";
import { gunzip, gunzipSync, constants as zlib } from "node:zlib";
import { InputError } from "../errors.ts";
import { openFile, readOpened } from "../open-file.ts";
import { decodeUtf8, isGzip, readErrorFrom } from "../text-file.ts";
import { type JsonRecord, readJsonLines } from "./json-lines.ts";
import { parseJson } from "./parse-json.ts";

const HEAD_BYTES = 4_096; // enough for the white space before an array
// JSON.parse needs one string: 512 MiB in Node 20
const MAX_ARRAY_BYTES = constants.MAX_STRING_LENGTH;
/** 80,000 questions with 100 contexts each have 16 million values. They need 1 GB of memory. */
const MAX_ARRAY_VALUES = 30_000_000;
/** A smaller file may have fewer: no record has less than 5 bytes for each of its values. */
const MIN_VALUE_BYTES = 5;
const MAX_SMALL_VALUES = 100_000;
const TOO_LARGE = new Set(["ERR_STRING_TOO_LONG", "ERR_BUFFER_TOO_LARGE", "ERR_FS_FILE_TOO_LARGE"]);

/**
 * Reads the records of a file, plain or gzip. JSON Lines are streamed. An array, or an object whose
 * first line is not complete, is loaded whole and needs about four times its size in memory while
 * it is parsed.
 *
 * @throws {InputError} as `readJsonLines` does, and for an array that is truncated, not UTF-8 or
 * over 512 MiB.
 */
export async function* readJsonRecords(
  file: string,
  signal?: AbortSignal,
): AsyncGenerator<JsonRecord, void> {
  if (!(await isOneValue(file))) {
    yield* readJsonLines(file, signal);
    return;
  }
  const value = await readValue(file, signal);
  if (!Array.isArray(value)) yield { where: file, value };
  else
    for (const [index, item] of value.entries()) yield { where: `${file}[${index}]`, value: item };
}

/** Whether the file is an array, or an object that is written over several lines. */
async function isOneValue(file: string): Promise<boolean> {
  try {
    const head = (await readHead(file)).toString("utf8");
    return /^\s*(?:\[|\{\s*?\n|\{[^\n]*[,[{]\s*?\n)/u.test(head.replace(/^\ufeff/, ""));
  } catch {
    return false; // readJsonLines reports the error
  }
}

async function readHead(file: string): Promise<Buffer> {
  const handle = await openFile(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const head = buffer.subarray(0, bytesRead);
    return isGzip(head) ? gunzipSync(head, { finishFlush: zlib.Z_SYNC_FLUSH }) : head;
  } finally {
    await handle.close();
  }
}

async function readValue(file: string, signal?: AbortSignal): Promise<unknown> {
  try {
    const bytes = await readOpened(file);
    signal?.throwIfAborted();
    const plain = isGzip(bytes)
      ? await promisify(gunzip)(bytes, { maxOutputLength: MAX_ARRAY_BYTES })
      : bytes;
    const maxValues = MAX_SMALL_VALUES + Math.floor(plain.length / MIN_VALUE_BYTES);
    const text = decodeUtf8(plain, file);
    return parseJson(text, file, Math.min(maxValues, MAX_ARRAY_VALUES));
  } catch (error) {
    throw valueError(error, file);
  }
}

function valueError(error: unknown, where: string): unknown {
  const expected = "a JSON array or object";
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof SyntaxError) {
    const remedy = "check that the file is complete";
    return new InputError({ where, expected, got: message, remedy }, { cause: error });
  }
  if (TOO_LARGE.has(code!)) {
    const remedy = "write one record a line: jq -c '.[]'";
    return new InputError(
      { where, expected, got: "more than 512 MiB of it", remedy },
      { cause: error },
    );
  }
  return readErrorFrom(error, where, expected);
}
