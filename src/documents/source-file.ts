/** The bytes and the text of a file of documents, read in bounded memory. */

import { constants } from "node:fs";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { InputError, inputErrorFrom } from "../io/errors.ts";
import { formatBytes } from "../io/format-bytes.ts";
import { openFile } from "../io/open-file.ts";
import { isGzip, readErrorFrom } from "../io/text-file.ts";
import { decodeText } from "./encoding.ts";

/** A book has 1 to 5 MB. JSON Lines are read one by one and have no limit. */
const MAX_BYTES = 64 * 2 ** 20;

/** A file that a reader reads. */
export interface SourceFile {
  /** Where it is. */
  readonly path: string;
  /** Its path relative to the folder, with `/`. It identifies the file in ids and metadata. */
  readonly name: string;
  /** Its contents, decompressed. @throws {InputError} if it is over 64 MiB or damaged */
  bytes(): Promise<Buffer>;
  /** Its contents as text. @throws {InputError} as `bytes`, and if it is binary */
  text(): Promise<string>;
}

export function sourceFile(path: string, name: string): SourceFile {
  const bytes = () => readBytes(path);
  return { path, name, bytes, text: async () => decodeText(await bytes(), path) };
}

async function readBytes(path: string): Promise<Buffer> {
  const stored = await readStored(path).catch((error: unknown) => {
    throw inputErrorFrom(error, { where: path, expected: "a file", remedy: "check the path" });
  });
  if (!isGzip(stored)) return stored;
  return promisify(gunzip)(stored, { maxOutputLength: MAX_BYTES }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(path);
    throw readErrorFrom(error, path, "a file");
  });
}

/** Does not follow a link that has replaced the file. */
async function readStored(path: string): Promise<Buffer> {
  const handle = await openFile(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const stats = await handle.stat();
    if (stats.size > MAX_BYTES) throw tooLarge(path, stats.size);
    const buffer = Buffer.alloc(stats.size + 1); // the file may grow
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
      length += bytesRead;
      if (length > stats.size && bytesRead > 0) throw changed(path);
      if (bytesRead === 0) return buffer.subarray(0, length);
    }
  } finally {
    await handle.close();
  }
}

const tooLarge = (where: string, size?: number): InputError =>
  new InputError({
    where,
    expected: `a document of at most ${formatBytes(MAX_BYTES)}`,
    got: size === undefined ? "more, decompressed" : formatBytes(size),
    remedy: "split the file, or write JSON Lines, which have no limit",
  });

const changed = (where: string): InputError =>
  new InputError({
    where,
    expected: "a file that does not change while it is read",
    got: "one that grows",
    remedy: "run it again when the file is complete",
  });
