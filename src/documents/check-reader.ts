/** What every reader promises, tested on its sample and on damaged copies of it. */

import { rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { createTemporaryDirectory } from "../io/create-directory.ts";
import { InputError } from "../io/errors.ts";
import { createRandom } from "../math/random.ts";
import type { DocumentReader } from "./define-reader.ts";
import { sourceFile } from "./file/source-file.ts";
import type { Block, Document } from "./tree/document.ts";

/** Copies that end too early, and files of random bytes. */
const COPIES = 50;
const RANDOM_BYTES = 200;

/**
 * Tests a reader on its sample:
 *
 * - The sample gives documents with text, and the same ones when it is read again or compressed.
 * - The empty file, a sample that ends too early and random bytes give documents or an `InputError`
 *   of one line, and no other error.
 *
 * @throws {InputError} that says what the reader does instead
 *
 * @example
 * ```ts
 * import { checkReader, defineReader } from "reatt/documents";
 *
 * const reader = defineReader({
 *   endings: ["pairs"],
 *   async *read(file) {
 *     const { question, answer } = JSON.parse(await file.text()); // a SyntaxError if it is damaged
 *     yield { title: question, blocks: [{ text: answer, headings: [] }] };
 *   },
 *   sample: '{"question": "Who?", "answer": "Ada."}',
 * });
 * await checkReader(reader).catch((error: Error) => console.log(error.message));
 * // the reader of .pairs, an empty file: expected documents or an InputError, got SyntaxError: …
 * ```
 */
export async function checkReader(reader: DocumentReader): Promise<void> {
  const folder = await createTemporaryDirectory("reader");
  try {
    await new ReaderCheck(reader, folder).run();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

class ReaderCheck {
  readonly #reader: DocumentReader;
  readonly #file: string;
  readonly #where: string;

  constructor(reader: DocumentReader, folder: string) {
    const [ending] = reader.endings;
    this.#reader = reader;
    this.#file = join(folder, `sample.${ending}`);
    this.#where = `the reader of .${ending}`;
  }

  async run(): Promise<void> {
    const { sample } = this.#reader;
    const bytes = Buffer.from(typeof sample === "function" ? sample() : sample);
    const documents = await this.#read(bytes, "its sample");
    if (documents instanceof InputError) throw documents;
    const texts = documents.flatMap(({ blocks }) => blocks.map(({ text }) => text));
    if (texts.length === 0) throw this.#broken("its sample", "documents with text", "none");
    if (texts.some((text) => text === ""))
      throw this.#broken("its sample", "blocks with a text", "an empty block");
    for (const [again, what] of [
      [bytes, "its sample, read again"],
      [await promisify(gzip)(bytes), "its sample, compressed"],
    ] as const)
      if (JSON.stringify(await this.#read(again, what)) !== JSON.stringify(documents))
        throw this.#broken(what, "the same documents", "others");
    await this.#read(Buffer.alloc(0), "an empty file");
    const step = Math.ceil(bytes.length / COPIES);
    for (let end = step; end < bytes.length; end += step)
      await this.#read(bytes.subarray(0, end), `its sample up to byte ${end}`);
    for (let i = 0; i < COPIES; i++) await this.#read(randomBytes(i), "random bytes");
  }

  /** The documents of a file, or the error of a file that cannot be read. */
  async #read(bytes: Uint8Array, what: string): Promise<ReadDocument[] | InputError> {
    await writeFile(this.#file, bytes);
    const documents: ReadDocument[] = [];
    try {
      for await (const document of this.#reader.read(sourceFile(this.#file, basename(this.#file))))
        documents.push({ ...document, blocks: [...document.blocks] });
      return documents;
    } catch (error) {
      if (!(error instanceof InputError))
        throw this.#broken(what, "documents or an InputError", `${error}`);
      return error;
    }
  }

  #broken(what: string, expected: string, got: string): InputError {
    const where = `${this.#where}, ${what}`;
    return new InputError({ where, expected, got, remedy: "correct the reader" });
  }
}

interface ReadDocument extends Document {
  readonly blocks: readonly Block[];
}

function randomBytes(seed: number): Buffer {
  const random = createRandom(seed, "reader");
  return Buffer.from(Array.from({ length: RANDOM_BYTES }, () => random.integer(256)));
}
