/** Tells a file of passages, as JSON Lines, from a document. */

import type { Stats } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { gunzipSync, constants as zlib } from "node:zlib";
import { inputErrorFrom } from "../io/errors.ts";
import { isGzip } from "../io/text-file.ts";
import type { DocumentReader } from "./define-reader.ts";
import { openRegularFile } from "./file/source-file.ts";
import { formatOf, isJsonLinesName, ownReaderOf } from "./formats.ts";

const HEAD_BYTES = 65_536;

/** The kind of a file or folder of documents. @throws {InputError} if it does not exist */
export const statDocuments = (source: string): Promise<Stats> =>
  stat(source).catch((error: unknown) => {
    const expected = "a file or a folder of documents";
    throw inputErrorFrom(error, { where: source, expected, remedy: "check the path" });
  });

/** Whether a source is a folder. @throws {InputError} if it does not exist */
export const isFolder = async (source: string): Promise<boolean> =>
  source !== "-" && (await statDocuments(source)).isDirectory();

/**
 * Whether `file` holds passages as JSON Lines: by its name, unless the ending is that of a
 * document. Then the first line decides, because a corpus may have any name.
 */
export async function holdsPassages(
  file: string,
  readers: readonly DocumentReader[] | undefined,
): Promise<boolean> {
  if (ownReaderOf(file, readers)) return false;
  if (!formatOf(file) || isJsonLinesName(file)) return true;
  const head = await readHead(file).catch((error: unknown) => {
    throw inputErrorFrom(error, { where: file, expected: "a file", remedy: "check the path" });
  });
  return isPassageLine(head);
}

/** Whether a text begins with a JSON object that has an id and a text. */
export function isPassageLine(head: Buffer): boolean {
  const line = head
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .trimStart()
    .split("\n", 1)[0]!;
  if (!line.startsWith("{")) return false;
  try {
    const { _id, id = _id, text } = JSON.parse(line);
    return id !== undefined && typeof text === "string";
  } catch {
    return false;
  }
}

/** The beginning of a file, decompressed. */
export async function readHead(file: string): Promise<Buffer> {
  const handle = await openRegularFile(await realpath(file));
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const head = buffer.subarray(0, bytesRead);
    if (!isGzip(head)) return head;
    const options = { finishFlush: zlib.Z_SYNC_FLUSH, maxOutputLength: 1_100 * HEAD_BYTES };
    return gunzipSync(head, options).subarray(0, HEAD_BYTES);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith("Z_")) return Buffer.alloc(0);
    throw error;
  } finally {
    await handle.close();
  }
}
