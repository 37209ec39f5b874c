/**
 * Random access to a file: a caller reads only the parts that it needs, for example one tensor of a
 * 3 GB checkpoint.
 */

import { InputError, inputErrorFrom } from "./errors.ts";
import { type OpenFile, openFile } from "./open-file.ts";

const READ_BYTES = 2 ** 28; // for one system call, which reads at most 2 GiB

export interface InputFile extends AsyncDisposable {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Fills `bytes` from `position`. @throws {InputError} if the file ends before. */
  readInto(bytes: Uint8Array, position: number): Promise<void>;
  /** Reads `length` bytes from `position`. @throws {InputError} if the file ends before. */
  read(position: number, length: number): Promise<Buffer>;
}

/** @throws {InputError} if `path` is not a regular file or cannot be read. */
export async function openInputFile(path: string): Promise<InputFile> {
  const handle = await openFile(path).catch((error) => {
    throw cannotRead(path, error);
  });
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new InputError({ ...unreadable(path), got: "no regular file" });
    return inputFile(path, stats.size, handle);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Opens each file once, when it is read first, and closes all of them together. */
export class InputFiles implements AsyncDisposable {
  readonly #files = new Map<string, Promise<InputFile>>();

  /** @throws {InputError} as `openInputFile` does */
  open(path: string): Promise<InputFile> {
    const file = this.#files.get(path) ?? openInputFile(path);
    this.#files.set(path, file);
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const opening of this.#files.values()) {
      const file = await opening.catch(() => undefined);
      await file?.[Symbol.asyncDispose]();
    }
  }
}

function inputFile(path: string, size: number, handle: OpenFile): InputFile {
  const readInto = async (bytes: Uint8Array, position: number): Promise<void> => {
    for (let done = 0; done < bytes.length; ) {
      const length = Math.min(READ_BYTES, bytes.length - done);
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
    remedy: "the file is truncated or damaged, download it again",
  });
}

const unreadable = (where: string) => ({
  where,
  expected: "a file that can be read",
  remedy: "check the path and its permissions",
});

const cannotRead = (path: string, error: unknown): unknown =>
  inputErrorFrom(error, unreadable(path));
