/**
 * Opens files that nobody has to close. From Node 25 on, a `FileHandle` that is garbage while it is
 * open ends the process. A caller may drop an index, a generator or a promise at any time, so reatt
 * opens files here and nowhere else.
 *
 * Source: https://nodejs.org/api/deprecations.html#DEP0137
 */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { isSystemError } from "./errors.ts";

/** An open file, with methods of a `FileHandle`. It is closed at the latest when it is garbage. */
export type OpenFile = Pick<
  FileHandle,
  | "appendFile"
  | "close"
  | "datasync"
  | "fd"
  | "read"
  | "stat"
  | "sync"
  | "truncate"
  | "write"
  | "writeFile"
> &
  AsyncDisposable;

/** Holds each handle until its `OpenFile` is garbage. A handle closes after its running reads. */
const dropped = new FinalizationRegistry<FileHandle>((handle) => {
  handle.close().catch(() => {}); // nobody is there to be told
});

/** To read without waiting: opening a pipe that nobody writes would block a thread for ever. */
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
/** Until a pipe is read again that is empty and whose writer has not ended. */
const PIPE_WAIT_MS = 20;
/** In which the writer of a pipe must begin: then it is empty. */
const FIRST_BYTE_MS = 5_000;

/**
 * Opens a file as `open` of node:fs/promises does. A pipe that nobody writes is empty after 5 s.
 *
 * @throws the error of the system
 */
export async function openFile(
  path: string,
  flags: string | number = READ,
  mode?: number,
): Promise<OpenFile> {
  const handle = await open(path, flags, mode);
  const close = async (): Promise<void> => {
    dropped.unregister(handle);
    await handle.close();
  };
  const file: OpenFile = {
    fd: handle.fd,
    appendFile: handle.appendFile.bind(handle),
    datasync: handle.datasync.bind(handle),
    read: (await handle.stat()).isFIFO() ? pipeRead(handle) : handle.read.bind(handle),
    stat: handle.stat.bind(handle),
    sync: handle.sync.bind(handle),
    truncate: handle.truncate.bind(handle),
    write: handle.write.bind(handle),
    writeFile: handle.writeFile.bind(handle),
    close,
    [Symbol.asyncDispose]: close,
  };
  dropped.register(file, handle, handle);
  return file;
}

/** `read` of a pipe, which waits for its writer without blocking a thread. */
function pipeRead(handle: FileHandle): FileHandle["read"] {
  const read = handle.read.bind(handle) as (...given: unknown[]) => Promise<{ bytesRead: number }>;
  const opened = performance.now();
  let hasBegun = false;
  const waiting = async (...given: unknown[]): Promise<unknown> => {
    for (;;) {
      const result = await read(...given).catch((error: unknown) => {
        if (!isSystemError(error) || error.code !== "EAGAIN") throw error;
        hasBegun = true; // there is a writer
      });
      hasBegun ||= result !== undefined && result.bytesRead > 0;
      if (result && (hasBegun || performance.now() - opened > FIRST_BYTE_MS)) return result;
      await sleep(PIPE_WAIT_MS);
    }
  };
  return waiting as FileHandle["read"];
}

/** All bytes of a file. @throws the error of the system */
export async function readOpened(path: string): Promise<Buffer> {
  await using file = await openFile(path);
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOf(file)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const CHUNK_BYTES = 65_536; // as the streams of Node

/**
 * The bytes of a file from position `start` on. Without `start`, they come from where the last read
 * ended: a pipe has no positions.
 */
export async function* chunksOf(file: OpenFile, start?: number): AsyncGenerator<Buffer, void> {
  for (let position = start ?? null; ; ) {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return;
    if (position !== null) position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
