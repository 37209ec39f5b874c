/** The bytes and the text of a file of documents, read in bounded memory. */

import { constants } from "node:fs";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { InputError, inputErrorFrom } from "../../io/errors.ts";
import { formatBytes } from "../../io/format-bytes.ts";
import { type OpenFile, openFile } from "../../io/open-file.ts";
import { isGzip, readErrorFrom } from "../../io/text-file.ts";
import { Budget, MAX_BYTES } from "./budget.ts";
import { decodeText } from "./encoding.ts";

/** How a file is read, where its contents leave a choice. */
export interface ReadingChoices {
  /** The encoding of texts. Default: by their marks, or a guess. */
  readonly encoding?: string | undefined;
  /** Whether the first row of a table names the columns. Default: its cells decide. */
  readonly tableHeader?: "auto" | "yes" | "no" | undefined;
  /** Is called for each part of the file that is left out, and for each guess. */
  readonly report?: ((problem: InputError, isDamage?: boolean) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A file that a reader reads.
 *
 * @example
 * ```ts
 * import type { Document, SourceFile } from "reatt/documents";
 *
 * async function* readLines(file: SourceFile): AsyncGenerator<Document> {
 *   const blocks = (await file.text()).split("\n").map((text) => ({ text, headings: [] }));
 *   yield { title: file.name, blocks: blocks.filter(({ text }) => text !== "") };
 * }
 * ```
 */
export interface SourceFile {
  /** Where it is. */
  readonly path: string;
  /** Its path relative to the folder, with `/`. It identifies the file in ids and metadata. */
  readonly name: string;
  /** What reading it may cost. */
  readonly budget: Budget;
  /** Whether the first row of a table names the columns, if the user says so. Default: `auto`. */
  readonly tableHeader?: "auto" | "yes" | "no" | undefined;
  /** Stops reading. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Says in one line which part of the file is left out, or what is guessed.
   *
   * @param isDamage whether the part was meant to be read. Default: false
   */
  report(problem: InputError, isDamage?: boolean): void;
  /** Its contents, decompressed. @throws {InputError} if it is over 64 MiB or damaged */
  bytes(): Promise<Buffer>;
  /** Its contents as text. @throws {InputError} as `bytes`, and if it is binary */
  text(): Promise<string>;
  /** Decodes bytes of the file in the encoding that the file has. */
  decode(bytes: Buffer): string;
}

export function sourceFile(path: string, name: string, choices: ReadingChoices = {}): SourceFile {
  return fileWith(() => readBytes(path), path, name, choices);
}

/** A value as a file, whose name in ids and messages is `name`. A text needs no decoding. */
export function valueFile(
  name: string,
  content: string | Uint8Array,
  choices: ReadingChoices,
): SourceFile {
  const encoding = typeof content === "string" ? "utf-8" : choices.encoding;
  return fileWith(async () => Buffer.from(content), name, name, { ...choices, encoding });
}

function fileWith(
  read: () => Promise<Buffer>,
  path: string,
  name: string,
  { encoding, tableHeader, report = () => {}, signal }: ReadingChoices,
): SourceFile {
  const budget = new Budget(path, signal);
  const bytes = async (): Promise<Buffer> => {
    const all = await read();
    budget.spend("bytes", all.length);
    return all;
  };
  const decode = (given: Buffer): string => decodeText(given, { where: path, encoding, report });
  const text = async (): Promise<string> => decode(await bytes());
  return { path, name, budget, tableHeader, signal, report, bytes, decode, text };
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

/** Neither follows a link that has replaced the file nor waits for the writer of a pipe. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** @throws {InputError} for what is no file; errors of the system */
export async function openRegularFile(path: string): Promise<OpenFile> {
  const handle = await openFile(path, OPEN_FLAGS);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw noFile(path);
}

async function readStored(path: string): Promise<Buffer> {
  const handle = await openRegularFile(path);
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

const noFile = (where: string): InputError =>
  new InputError({
    where,
    expected: "a file",
    got: "a folder, a device, a pipe or a socket",
    remedy: "copy the file into the folder",
  });

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
