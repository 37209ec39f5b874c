/**
 * Opens files that nobody has to close. From Node 25 on, a `FileHandle` that is garbage while it is
 * open ends the process. A caller may drop an index, a generator or a promise at any time, so reatt
 * opens files here and nowhere else.
 *
 * Source: https://nodejs.org/api/deprecations.html#DEP0137
 */

import { type FileHandle, open } from "node:fs/promises";

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

/**
 * Opens a file as `open` of node:fs/promises does.
 *
 * @throws the error of the system
 */
export async function openFile(
  path: string,
  flags?: string | number,
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
    read: handle.read.bind(handle),
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
