/** A reader: how files of a format become documents. formats.ts lists those of the package. */

import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import type { SourceFile } from "./file/source-file.ts";
import type { Document } from "./tree/document.ts";

/**
 * A reader of a format, made with {@link defineReader}.
 *
 * @example
 * ```ts
 * import { type DocumentReader, defineReader } from "reatt/documents";
 *
 * const notes: DocumentReader = defineReader({
 *   endings: ["note"],
 *   async *read(file) {
 *     yield { title: "", blocks: [{ text: await file.text(), headings: [] }] };
 *   },
 *   sample: "Buy milk.",
 * });
 * console.log(notes.endings); // [ 'note' ]
 * ```
 */
export interface DocumentReader {
  /** The ends of the names of its files, in lower case and without a dot: `["md", "markdown"]`. */
  readonly endings: readonly string[];
  /**
   * Reads the documents of a file. It throws an `InputError` if the file is damaged, also after
   * some documents, and reports what it leaves out with `file.report`. It spends the budget of the
   * file, and pauses in long loops.
   */
  read(file: SourceFile): AsyncIterable<Document> | Iterable<Document>;
  /** A small valid file of the format: text, bytes, or a function that makes one of them. */
  readonly sample: string | Uint8Array | (() => string | Uint8Array);
}

/**
 * Makes a reader for a format of your own, or another one for a format that reatt reads. Give it to
 * `readDocuments`, `sync` and `openOrIndex` as `readers`; `checkReader` tests it on its sample.
 *
 * A reader knows neither passages nor models. It yields documents, whose blocks are paragraphs,
 * lists, tables and code below their headings. A document with a `record` is one of several in its
 * file. reatt opens the file, also a compressed one, decodes its text, and splits the documents.
 *
 * @throws {InputError} for an ending that is empty, has capitals or begins with a dot
 *
 * @example
 * ```ts
 * import { writeFile } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { defineReader, readDocuments } from "reatt/documents";
 *
 * // Subtitles: a number, a time and lines of text, then an empty line.
 * const subtitles = defineReader({
 *   endings: ["srt"],
 *   async *read(file) {
 *     const scenes = (await file.text()).split(/\n{2,}/);
 *     const blocks = scenes.map((scene) => ({
 *       text: scene.split("\n").slice(2).join("\n").trim(),
 *       headings: [],
 *     }));
 *     yield { title: "", blocks: blocks.filter(({ text }) => text !== "") };
 *   },
 *   sample: "1\n00:00:01,000 --> 00:00:02,000\nThe lion sleeps.\n",
 * });
 *
 * const film = join(tmpdir(), "film.srt");
 * await writeFile(film, "1\n00:00:01,000 --> 00:00:02,000\nThe lion wakes.\n");
 * for await (const { title, text } of readDocuments(film, { readers: [subtitles] }))
 *   console.log(title, text); // film The lion wakes.
 * ```
 */
export function defineReader(reader: DocumentReader): DocumentReader {
  const { endings } = reader;
  const wrong = endings.find((ending) => !ENDING.test(ending));
  if (endings.length > 0 && wrong === undefined) return reader;
  throw new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where: "endings",
    expected: 'ends of names in lower case, without a dot: ["xyz"]',
    got: wrong === undefined ? "none" : excerpt(wrong),
    remedy: "name the endings of the files that the reader reads",
  });
}

const ENDING = /^[^\s./\\\p{Lu}]+$/u;

const isReader = (given: unknown): boolean => {
  const { endings, read } = (given ?? {}) as Partial<DocumentReader>;
  return Array.isArray(endings) && typeof read === "function";
};

/** The option of calls that read documents. */
export const READERS = {
  /** Readers of formats of your own, made with `defineReader`. They come first. Default: none. */
  readers: z
    .array(z.custom<DocumentReader>(isReader, "readers that defineReader made"))
    .readonly()
    .optional(),
};
