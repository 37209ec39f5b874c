/** The parts of a zip file, such as a Word document or a book, within the budget of the file. */

import { once } from "node:events";
import { posix } from "node:path";
import type { Readable } from "node:stream";
import type { Entry, ZipFile } from "yauzl";
import { InputError } from "../../io/errors.ts";
import type { SourceFile } from "../file/source-file.ts";
import { type Element, parseXml } from "../tree/markup.ts";

export interface Container {
  readonly names: readonly string[];
  /** The contents of a part, decompressed. @throws {InputError} if there is none */
  bytes(name: string): Promise<Buffer>;
  /** A part of XML; undefined if there is none. */
  xml(name: string): Promise<Element | undefined>;
}

/**
 * Opens the parts of a file, and gives them to `read`.
 *
 * @param what the format, for messages: "a Word document (.docx)"
 * @throws {InputError} for damaged files, and for those that need too much
 */
export async function* withContainer<Result>(
  file: SourceFile,
  what: string,
  read: (container: Container) => AsyncIterable<Result>,
): AsyncGenerator<Result> {
  try {
    yield* read(await openContainer(file));
  } catch (error) {
    throw isDamage(error) ? damaged(file.path, what, error) : error;
  }
}

async function openContainer(file: SourceFile): Promise<Container> {
  const { default: yauzl } = await import("yauzl");
  const bytesOfFile = await file.bytes();
  if (isEncrypted(bytesOfFile)) throw passwordNeeded();
  const stored = withoutTail(bytesOfFile);
  const zip = await new Promise<ZipFile>((resolve, reject) => {
    yauzl.fromBuffer(stored, { lazyEntries: true }, (error, opened) =>
      error ? reject(new Damage(error)) : resolve(opened),
    );
  });
  file.budget.spend("parts", zip.entryCount);
  const entries = new Map<string, Entry>();
  for await (const entry of entriesOf(zip))
    if (!entries.has(entry.fileName)) entries.set(entry.fileName, entry);
  const bytes = async (name: string): Promise<Buffer> => {
    const entry = entries.get(name);
    if (!entry) throw new Damage(`no part ${name}`);
    if (entry.isEncrypted()) throw passwordNeeded();
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of await openEntry(zip, entry)) {
        file.budget.spend("bytes", (chunk as Buffer).length);
        chunks.push(chunk as Buffer);
      }
    } catch (error) {
      throw error instanceof InputError ? error : new Damage(error);
    }
    return Buffer.concat(chunks);
  };
  const xml = async (name: string): Promise<Element | undefined> =>
    entries.has(name) ? parseXml(file.decode(await bytes(name)), file.budget) : undefined;
  return { names: [...entries.keys()], bytes, xml };
}

async function* entriesOf(zip: ZipFile): AsyncGenerator<Entry> {
  for (let read = 0; read < zip.entryCount; read++) {
    const next = once(zip, "entry") as Promise<[Entry]>;
    zip.readEntry();
    const [entry] = await next.catch((error: unknown) => {
      throw new Damage(error);
    });
    yield entry;
  }
}

/** The record at the end of a zip file: its signature, and its length without the comment. */
const [END, END_LENGTH] = [Buffer.from("PK\x05\x06"), 22];

/** The file up to its directory. Downloads have bytes behind it, or a comment of another length. */
function withoutTail(stored: Buffer): Buffer {
  const at = stored.lastIndexOf(END, stored.length - END_LENGTH);
  if (at === -1) return stored;
  const end = at + END_LENGTH;
  if (stored.readUInt16LE(end - 2) === stored.length - end) return stored;
  const whole = Buffer.from(stored.subarray(0, end));
  whole.writeUInt16LE(0, end - 2);
  return whole;
}

/** Word, PowerPoint and Excel put what a password protects into a compound file (MS-OFFCRYPTO). */
const isEncrypted = (stored: Buffer): boolean =>
  stored.subarray(0, 4).toString("hex") === "d0cf11e0" &&
  stored.includes(Buffer.from("EncryptedPackage", "utf16le"));

const openEntry = (zip: ZipFile, entry: Entry): Promise<Readable> =>
  new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
  });

/** The file is not what its name says, or cannot be opened. */
export class Damage extends Error {
  readonly remedy: string;

  constructor(reason: unknown, remedy = "open and save it again, or ignore it") {
    super(reason instanceof Error ? reason.message : String(reason), { cause: reason });
    this.remedy = remedy;
  }
}

/** Why a file that a password protects is not read. */
export const passwordNeeded = (): Damage =>
  new Damage("a file with a password", "save it without the password, or ignore it");

const isDamage = (error: unknown): error is Damage => error instanceof Damage;

const damaged = (where: string, what: string, cause: Damage): InputError =>
  new InputError({ where, expected: what, got: cause.message, remedy: cause.remedy }, { cause });

/** The path of a target in the folder of a part. */
export const resolvePart = (part: string, target: string): string =>
  target.startsWith("/") ? target.slice(1) : posix.join(posix.dirname(part), target);
