/** Reading and writing by position, and what to say when a disk refuses. */

import type { FileHandle } from "node:fs/promises";
import { InputError, systemProblem } from "../../../io/errors.ts";

/** Writes all of `data` at `position`; a single write may do less. */
export async function writeAt(file: FileHandle, data: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < data.length; ) {
    const { bytesWritten } = await file.write(data, done, data.length - done, position + done);
    done += bytesWritten;
  }
}

/** Reads up to `length` bytes from `position`: fewer only where the file ends. */
export async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(length); // starts at byte 0 of its own memory: typed arrays can lie over it
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done === length ? buffer : buffer.subarray(0, done);
}

const RESUME = "and run it again: it continues where it stopped";
const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: `free some space ${RESUME}`,
  EDQUOT: `free some space ${RESUME}`,
  EFBIG: `raise the limit of the file size ${RESUME}`,
  EACCES: "choose a directory that you may write",
  EPERM: "choose a directory that you may write",
  EROFS: "choose a directory that you may write",
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

/** True of errors of the operating system: those of files have a code such as `ENOENT` and a `syscall`. */
export const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "syscall" in error && "code" in error;

export const isMissing = (error: unknown): boolean =>
  isSystemError(error) && error.code === "ENOENT";
