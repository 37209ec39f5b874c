/** The parts of a zip file, such as a Word document or a book, within the budget of the file. */

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
  const stored = await file.bytes();
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
  for (let read = 0; read < zip.entryCount; read++)
    yield await new Promise<Entry>((resolve, reject) => {
      zip.once("entry", resolve);
      zip.once("error", (error) => reject(new Damage(error)));
      zip.readEntry();
    });
}

const openEntry = (zip: ZipFile, entry: Entry): Promise<Readable> =>
  new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
  });

/** The file is not what its name says. */
export class Damage extends Error {
  constructor(reason: unknown) {
    super(reason instanceof Error ? reason.message : String(reason), { cause: reason });
  }
}

const isDamage = (error: unknown): error is Damage => error instanceof Damage;

const damaged = (where: string, what: string, cause: Damage): InputError =>
  new InputError(
    { where, expected: what, got: cause.message, remedy: "open and save it again, or ignore it" },
    { cause },
  );

/** The path of a target in the folder of a part. */
export const resolvePart = (part: string, target: string): string =>
  target.startsWith("/") ? target.slice(1) : posix.join(posix.dirname(part), target);
