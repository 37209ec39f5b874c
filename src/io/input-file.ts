/** A file that is read by position: what a 3 GB checkpoint needs, and no more of it in memory than was asked for. */

import { type FileHandle, open } from "node:fs/promises";
import { InputError, systemProblem } from "./errors.ts";

/** Well below the 2 GiB that one system call reads. */
const BYTES_AT_ONCE = 2 ** 28;

export interface InputFile extends AsyncDisposable {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Fills `bytes` from `position`. @throws {InputError} where the file ends before. */
  readInto(bytes: Uint8Array, position: number): Promise<void>;
  /** `length` bytes from `position`; the caller has checked `length` against something. */
  read(position: number, length: number): Promise<Buffer>;
}

/** @throws {InputError} where there is no such file or it may not be read. */
export async function openInputFile(path: string): Promise<InputFile> {
  const handle = await open(path).catch((error) => {
    throw cannotRead(path, error);
  });
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw cannotRead(path, new Error("no regular file"));
    return inputFile(path, stats.size, handle);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function inputFile(path: string, size: number, handle: FileHandle): InputFile {
  const readInto = async (bytes: Uint8Array, position: number): Promise<void> => {
    for (let done = 0; done < bytes.length; ) {
      const length = Math.min(BYTES_AT_ONCE, bytes.length - done);
      const { bytesRead } = await handle
        .read(bytes, done, length, position + done)
        .catch((error) => {
          throw cannotRead(path, error);
        });
      if (bytesRead === 0) throw endsEarly(path, position + bytes.length, position + done);
      done += bytesRead;
    }
  };
  return {
    path,
    size,
    readInto,
    async read(position, length) {
      if (position + length > size) throw endsEarly(path, position + length, size);
      const bytes = Buffer.alloc(length);
      await readInto(bytes, position);
      return bytes;
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

function endsEarly(path: string, expected: number, got: number): InputError {
  return new InputError({
    where: path,
    expected: `at least ${expected} bytes`,
    got: `${got}`,
    remedy: "the file is truncated or damaged, fetch it again",
  });
}

function cannotRead(path: string, cause: Error): InputError {
  return new InputError(
    {
      where: path,
      expected: "a file that can be read",
      got: systemProblem(cause),
      remedy: "check the path and its permissions",
    },
    { cause },
  );
}
