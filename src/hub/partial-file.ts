/** A file that is downloaded piece by piece, with the hash of what is there. */

import { createHash, type Hash } from "node:crypto";
import { constants, lstat, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { writeErrorFrom } from "../io/errors.ts";
import { chunksOf, type OpenFile, openFile } from "../io/open-file.ts";
import { syncDirectory } from "../io/replace-file.ts";

/** What the file must be at its end. */
export interface ExpectedFile {
  readonly bytes: number;
  /** SHA-256, or the SHA-1 of a git object (40 digits). */
  readonly hash: string;
}

export class PartialFile implements AsyncDisposable {
  readonly #path: string;
  readonly #expected: ExpectedFile;
  readonly #file: OpenFile;
  #hash: Hash;
  /** Bytes that are there. */
  size = 0;

  private constructor(path: string, expected: ExpectedFile, file: OpenFile) {
    this.#path = path;
    this.#expected = expected;
    this.#file = file;
    this.#hash = emptyHash(expected);
  }

  /**
   * Opens the file, and hashes what an earlier download left. Another user of the cache may have
   * put a link or a pipe there: it is replaced, not followed.
   */
  static async open(path: string, expected: ExpectedFile): Promise<PartialFile> {
    const file = await openOwn(path).catch((error: unknown) => {
      throw writeErrorFrom(error, path);
    });
    const partial = new PartialFile(path, expected, file);
    for await (const chunk of chunksOf(file, 0)) {
      partial.#hash.update(chunk);
      partial.size += chunk.length;
    }
    if (partial.isTooLong) await partial.restart();
    return partial;
  }

  /** @throws {InputError} if the system cannot write, for example to a full disk */
  async append(chunk: Uint8Array): Promise<void> {
    try {
      await this.#file.appendFile(chunk);
    } catch (error) {
      throw writeErrorFrom(error, this.#path);
    }
    this.#hash.update(chunk);
    this.size += chunk.length;
  }

  /** Whether more has come than the file can have. */
  get isTooLong(): boolean {
    return this.size > this.#expected.bytes;
  }

  async restart(): Promise<void> {
    await this.#file.truncate(0);
    this.#hash = emptyHash(this.#expected);
    this.size = 0;
  }

  /** Gives the complete file its name. Returns false, and deletes it, if it is another file. */
  async finish(path: string): Promise<boolean> {
    const { bytes, hash } = this.#expected;
    if (this.size !== bytes || this.#hash.digest("hex") !== hash) {
      await rm(this.#path);
      return false;
    }
    await this.#file.sync();
    await rename(this.#path, path);
    await syncDirectory(dirname(path));
    return true;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file.close();
  }
}

const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

async function openOwn(path: string): Promise<OpenFile> {
  const found = await lstat(path).catch(() => undefined);
  if (found && !(found.isFile() && found.nlink === 1)) await rm(path, { recursive: true });
  return openFile(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
}

/** Whether a file is there and has this size and this hash. */
export async function holds(path: string, expected: ExpectedFile): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile() || found.size !== expected.bytes) return false;
  await using file = await openFile(path);
  const hash = emptyHash(expected);
  for await (const chunk of chunksOf(file)) hash.update(chunk);
  return hash.digest("hex") === expected.hash;
}

/** git hashes the type and the size of an object before its content. Source: git-hash-object(1) */
const emptyHash = ({ bytes, hash }: ExpectedFile): Hash =>
  hash.length === 40 ? createHash("sha1").update(`blob ${bytes}\0`) : createHash("sha256");
