/** Reads documents as passages: a folder, a file, or standard input. */

import { basename, extname } from "node:path";
import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { checkPath } from "../options/arguments.ts";
import { DOCUMENT_OPTIONS } from "../options/document-options.ts";
import { INDEX_OPTIONS } from "../options/library-options.ts";
import { callback, type Given, type Resolved, SIGNAL } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import { createIdTable } from "../text/id-table.ts";
import type { Passage } from "../text/passage.ts";
import { readPassages } from "../text/read-passages.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { documentPassages, placeOf } from "./document-passages.ts";
import { type FolderEntry, filesOf } from "./folder.ts";
import { FORMATS, readerOf } from "./formats.ts";
import { holdsPassages, statDocuments } from "./passage-file.ts";
import { type SourceFile, sourceFile } from "./source-file.ts";
import { spoolStandardInput } from "./standard-input.ts";

/** A file, or the rest of a file, that is not read. */
export interface SkippedFile {
  /** The path relative to the folder. */
  readonly file: string;
  /** Whether the only problem is that no reader knows the ending of the name. */
  readonly isUnknownFormat: boolean;
  /** Says in one line what is wrong and what to do. */
  readonly problem: InputError;
}

const OPTIONS = {
  ...DOCUMENT_OPTIONS,
  /** Tokens of a passage with its title. Give the same limit to `index`. Default 512. */
  maxPassageTokens: INDEX_OPTIONS.maxPassageTokens,
  /** Is called for each file that is skipped. Default: a warning of the process. */
  onSkip: callback<(skipped: SkippedFile) => void>(),
  /** Is called before each file of a folder. */
  onProgress: callback<(progress: { readonly done: number; readonly total: number }) => void>(),
  ...SIGNAL,
  /**
   * The tokenizer of the model, which counts the tokens of passages. Default: an estimate of one
   * token for two characters.
   */
  tokenizer: z
    .custom<Pick<Tokenizer, "encode">>(
      (given) => typeof (given as Partial<Tokenizer> | null)?.encode === "function",
      "the tokenizer of a model",
    )
    .optional(),
};

export interface ReadDocumentsOptions extends Given<typeof OPTIONS> {}

/** The options with their defaults. */
export interface ResolvedReadOptions extends Resolved<typeof OPTIONS> {}

/**
 * Reads the documents of a folder or of a file, or of standard input (`"-"`), and splits them into
 * passages: .txt, .md, .html, .csv, .tsv, .json, .jsonl, .docx and, with the package `unpdf`, .pdf,
 * each plain or gzip. Hidden files, those that a .gitignore or .reattignore of the folder names,
 * and symbolic links are left out. A file that cannot be read is skipped. The order and the ids are
 * the same at every call: `PATH#1`, `PATH#2`, and so on.
 *
 * A passage has `document` (the path relative to the folder; for a record of CSV or JSON with its
 * id) and metadata: `source` (the path), `lines` or `page`, and `headings`. The columns of a table
 * and the fields of JSON are metadata as well. A file of passages as JSON Lines is read as
 * `readPassages` does.
 *
 * Memory is bounded: a file may have 64 MiB, decompressed. JSON Lines are streamed.
 *
 * @throws {InputError} if the file cannot be read, or the folder has no document.
 *
 * @example
 * ```ts
 * import { ReAtt, readDocuments } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const { tokenizer } = model; // counts tokens, so that no passage is too long
 * for await (const { id, title, metadata } of readDocuments("docs/INDEX.md", { tokenizer })) {
 *   console.log(id, title, metadata); // INDEX.md#1 Index and search { source: 'INDEX.md', ... }
 *   break;
 * }
 * ```
 */
export async function* readDocuments(
  source: string,
  given?: ReadDocumentsOptions,
): AsyncGenerator<Passage, void> {
  checkPath(source, "source");
  const options = resolveReadOptions(given);
  if (source !== "-") return yield* readSource(source, options);
  await using input = await spoolStandardInput(options.signal);
  yield* readSource(input.path, options);
}

/** @throws {InputError} for options out of range, or that contradict each other */
export function resolveReadOptions(given?: ReadDocumentsOptions): ResolvedReadOptions {
  const options = resolveOptions(OPTIONS, given);
  const { passageWords, overlapWords } = options;
  if (overlapWords > passageWords / 2)
    throw new InputError({
      where: "overlapWords",
      expected: `at most half of passageWords, which is ${passageWords}`,
      got: `${overlapWords}`,
      remedy: "give a smaller overlap or longer passages",
    });
  return options;
}

async function* readSource(
  source: string,
  options: ResolvedReadOptions,
): AsyncGenerator<Passage, void> {
  const stats = await statDocuments(source);
  if (stats.isDirectory()) yield* readFolder(source, options);
  else if (await holdsPassages(source)) yield* passagesOfRecords(source, options);
  else {
    const file = sourceFile(source, basename(source));
    let isEmpty = true;
    for await (const passage of readFile(file, options)) {
      isEmpty = false;
      yield passage;
    }
    if (isEmpty) throw withoutText(file);
  }
}

/** The passages of a JSON Lines file, as they are or split. */
async function* passagesOfRecords(
  file: string,
  options: ResolvedReadOptions,
): AsyncGenerator<Passage, void> {
  for await (const passage of readPassages(file, options.signal))
    if (!options.splitRecords || passage.text.trim() === "") yield passage;
    else {
      const { id, title, text, document = id, metadata } = passage;
      const blocks = [{ text, headings: [] }];
      const place = { id, document, source: undefined, isRecord: true };
      yield* documentPassages({ title, blocks, metadata }, place, options);
    }
}

async function* readFolder(
  folder: string,
  options: ResolvedReadOptions,
): AsyncGenerator<Passage, void> {
  let [passages, skipped] = [0, 0];
  const skip = (file: string, problem: InputError, isUnknownFormat = false): void => {
    skipped++;
    report({ file, problem, isUnknownFormat }, options);
  };
  const entries: FolderEntry[] = [];
  for await (const entry of filesOf(folder)) entries.push(entry);
  for (const [done, { path, name, problem }] of entries.entries()) {
    options.signal?.throwIfAborted();
    options.onProgress?.({ done, total: entries.length });
    if (problem) skip(name, problem);
    else if (!readerOf(name)) skip(name, unknownFormat(path), true);
    else
      try {
        const before = passages;
        const file = sourceFile(path, name);
        for await (const passage of readFile(file, options)) {
          passages++;
          yield passage;
        }
        if (passages === before) skip(name, withoutText(file));
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        skip(name, error);
      }
  }
  if (passages === 0) throw noDocument(folder, skipped);
}

/** The passages of one file. @throws {InputError} if it is damaged, also after some passages */
export async function* readFile(
  file: SourceFile,
  options: Omit<ResolvedReadOptions, "onProgress">,
): AsyncGenerator<Passage, void> {
  const load = readerOf(file.name);
  if (!load) throw unknownFormat(file.path);
  const reader = await load();
  const records = createIdTable();
  let number = 0;
  for await (const document of reader(file)) {
    options.signal?.throwIfAborted();
    const { record } = document;
    if (record !== undefined && records.firstLine(record, ++number) !== number)
      throw repeatedId(file.path, record, number);
    const title = record === undefined ? document.title || titleOf(file.name) : document.title;
    const place = placeOf(file.name, record);
    for (const passage of documentPassages({ ...document, title }, place, options)) {
      yield passage;
    }
  }
}

/** `guide/getting-started.md` -> `getting started`. */
const titleOf = (name: string): string =>
  basename(name, extname(name.replace(/\.gz$/i, "")) + (/\.gz$/i.exec(name)?.[0] ?? ""))
    .replace(/[-_]+/g, " ")
    .trim();

function report(skipped: SkippedFile, { onSkip }: ResolvedReadOptions): void {
  if (onSkip) onSkip(skipped);
  else process.emitWarning(`skipped ${skipped.problem.message}`, "ReAttWarning");
}

export const unknownFormat = (where: string): InputError =>
  new InputError({
    where,
    expected: `a document (${FORMATS})`,
    got: extname(where) === "" ? "a name without an ending" : extname(where),
    remedy: "convert it, or rename it if it is text",
  });

export const withoutText = ({ path }: SourceFile): InputError =>
  new InputError({
    where: path,
    expected: "a document with text",
    got: "none",
    remedy: /\.pdf(\.gz)?$/i.test(path)
      ? "scanned pages need text recognition (OCR) first"
      : "add text or remove the file",
  });

const repeatedId = (path: string, id: string, record: number): InputError =>
  new InputError({
    where: path,
    expected: "a new id for each record",
    got: `${excerpt(id)} again in record ${record}`,
    remedy: "give every record an id of its own",
  });

const noDocument = (where: string, skipped: number): InputError =>
  new InputError({
    where,
    expected: `a document with text (${FORMATS})`,
    got: skipped === 0 ? "no file" : `only files that cannot be read: ${skipped}`,
    remedy: "check the path, and .gitignore and .reattignore",
  });
