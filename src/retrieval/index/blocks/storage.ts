/** Reads and writes files by position, and converts errors of the system to InputError. */

import {
  InputError,
  inputErrorFrom,
  isMissing,
  isSystemError,
  isTooManyFiles,
  OPEN_FILE_REMEDIES,
  systemProblem,
} from "../../../io/errors.ts";
import type { OpenFile } from "../../../io/open-file.ts";
import type { Awaitable } from "./awaitable.ts";

/** Writes all of `data` at `position`; a single system call can write less. */
export async function writeAt(file: OpenFile, data: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < data.length; ) {
    const { bytesWritten } = await file.write(data, done, data.length - done, position + done);
    done += bytesWritten;
  }
}

/** An open file: a `FileHandle`, or what reads by a descriptor. */
export interface Readable {
  read(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Awaitable<{ readonly bytesRead: number }>;
}

/** Reads up to `length` bytes from `position`; fewer only at the end of the file. */
export async function readAt(file: Readable, position: number, length: number): Promise<Buffer> {
  // its own memory from byte 0, so that typed arrays can view it
  const buffer = Buffer.allocUnsafeSlow(length);
  const done = await fillFrom(file, position, buffer);
  return done === length ? buffer : buffer.subarray(0, done);
}

/** Fills `buffer` from `position`. Returns the bytes read: fewer only at the end of the file. */
export async function fillFrom(
  file: Readable,
  position: number,
  buffer: Uint8Array,
): Promise<number> {
  let done = 0;
  while (done < buffer.length) {
    const rest = buffer.length - done;
    const { bytesRead } = await file.read(buffer, done, rest, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}

const RESUME = "and run it again: it continues where it stopped";
const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: `free some space ${RESUME}`,
  EDQUOT: `free some space ${RESUME}`,
  EFBIG: `raise the limit of the file size ${RESUME}`,
  EACCES: "choose a directory that you may write",
  EPERM: "choose a directory that you may write",
  EROFS: "choose a directory that you may write",
  ...OPEN_FILE_REMEDIES,
};

/**
 * Runs `work`, which writes to `directory`.
 *
 * @throws {InputError} for an error of the operating system
 */
export async function writing<Result>(
  directory: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (!isSystemError(cause)) throw cause;
    const { code, path } = cause;
    throw new InputError(
      {
        where: path ?? directory,
        expected: "to be able to write the index",
        got: systemProblem(cause),
        remedy: REMEDIES[code!] ?? "check the disk, and that no other program changes the index",
      },
      { cause },
    );
  }
}

/**
 * The `InputError` for a failure of the operating system to read a file of an index. Returns any
 * other error unchanged.
 */
export function readingErrorFrom(error: unknown, directory: string): unknown {
  const where = (isSystemError(error) && error.path) || directory;
  if (isMissing(error))
    return inputErrorFrom(error, {
      code: "ERR_REATT_DAMAGED_INDEX",
      where,
      expected: "the file that index.json names",
      remedy: "restore it from a copy, or build the index again",
    });
  return inputErrorFrom(error, {
    where,
    expected: "to be able to read the index",
    remedy: isTooManyFiles(error)
      ? "raise the limit of open files (ulimit -n), or close other indexes"
      : "check the disk and the permissions of the file",
  });
}

/** Runs `work`, which reads the index in `directory`. @throws {InputError} as `readingErrorFrom` */
export async function reading<Result>(
  directory: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw readingErrorFrom(error, directory);
  }
}

/** True if something cannot be removed because it, or a file in it, is open. */
export const isInUse = (error: unknown): boolean =>
  isSystemError(error) && (error.code === "EBUSY" || error.code === "ENOTEMPTY");

const CHECKSUM = "the checksum in the manifest";

/** The error for a file of an index that differs from the manifest. */
export const damagedFile = (path: string, expected = CHECKSUM, got = "another"): InputError =>
  new InputError({
    code: "ERR_REATT_DAMAGED_INDEX",
    where: path,
    expected,
    got,
    remedy: "restore the file from a copy, or build the index again",
  });
