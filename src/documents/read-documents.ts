/** Reads documents as passages: a folder, a file, or standard input. */

import { basename, extname, isAbsolute, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { checkPath } from "../options/arguments.ts";
import { DOCUMENT_OPTIONS } from "../options/document-options.ts";
import { INDEX_OPTIONS } from "../options/library-options.ts";
import { callback, type Given, type Resolved, SIGNAL } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import { isFields } from "../text/fields.ts";
import { createIdTable } from "../text/id-table.ts";
import type { Metadata, Passage } from "../text/passage.ts";
import { identifier, TEXT_NAMES, unwrapped } from "../text/record-fields.ts";
import type { Tokenizer } from "../text/tokens/tokenizer.ts";
import { type DocumentReader, READERS } from "./define-reader.ts";
import { Budget } from "./file/budget.ts";
import { isEncoding } from "./file/encoding.ts";
import { type FolderEntry, filesOf } from "./file/folder.ts";
import { type SourceFile, sourceFile } from "./file/source-file.ts";
import { endingsText, formatOf, isReadable, ownReaderOf } from "./formats.ts";
import { holdsPassages, statDocuments } from "./passage-file.ts";
import { documentPassages, placeOf } from "./passages/document-passages.ts";
import { jsonLinesOf } from "./readers/json-lines.ts";
import { linesOf } from "./readers/record.ts";
import { RecordIds, repeatedIds } from "./readers/record-ids.ts";
import { spoolStandardInput } from "./standard-input.ts";

/** A file or a part of a file that is not read, or is read by a guess. */
export interface SkippedFile {
  /** The path relative to the folder. */
  readonly file: string;
  /** Whether the only problem is that no reader knows the ending of the name. */
  readonly isUnknownFormat: boolean;
  /** Whether the rest of the file is read. */
  readonly isPart: boolean;
  /**
   * Whether it was meant to be read, and cannot be: a file that is damaged, a line that is no JSON,
   * pages without text. False for what no reader knows, for guesses, pictures and menus.
   */
  readonly isDamage: boolean;
  /** Says in one line what is wrong and what to do. */
  readonly problem: InputError;
}

const OPTIONS = {
  ...DOCUMENT_OPTIONS,
  ...READERS,
  /** Tokens of a passage with its title. Give the same limit to `index`. Default 512. */
  maxPassageTokens: INDEX_OPTIONS.maxPassageTokens,
  /** Is called for each file or part that is skipped. Default: a warning of the process. */
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

export interface ReadDocumentsOptions
  extends Given<typeof DOCUMENT_OPTIONS>,
    Given<typeof READERS>,
    Given<typeof SIGNAL>,
    Given<typeof OPTIONS> {}

/** The options with their defaults. */
export interface ResolvedReadOptions extends Resolved<typeof OPTIONS> {}

/**
 * Reads the documents of a folder or of a file, or of standard input (`"-"`), and splits them into
 * passages. docs/DOCUMENTS.md has a table of the formats. Hidden files, those that a .gitignore or
 * .reattignore of the folder names, and symbolic links are left out. A file that cannot be read is
 * skipped. The order and the ids are the same at every call: `PATH#1`, `PATH#2`, and so on. The
 * path of a file of a folder is relative to the folder, that of a single file to the working
 * directory.
 *
 * A passage has `document` (the path; for a record of a table or of JSON with its id) and metadata:
 * columns, fields and front matter under their own names, and `_source` (the path), `_headings`,
 * and `_lines`, `_page`, `_slide`, `_sheet` and `_rows`, `_chapter` or `_cell`. A file of passages
 * as JSON Lines keeps their ids.
 *
 * Memory is bounded: a file may have 64 MiB, decompressed. JSON Lines are streamed.
 *
 * @throws {InputError} if the file cannot be read, or the folder has no document.
 *
 * @example
 * ```ts
 * import { ReAtt } from "reatt";
 * import { readDocuments } from "reatt/documents";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const { tokenizer } = model; // counts tokens, so that no passage is too long
 * for await (const { id, title, metadata } of readDocuments("docs/INDEX.md", { tokenizer })) {
 *   console.log(id, title, metadata); // docs/INDEX.md#1 Index and search { _source: ... }
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
  yield* readSource(input.path, options, basename(input.path));
}

/** @throws {InputError} for options out of range, or that contradict each other */
export function resolveReadOptions(given?: ReadDocumentsOptions): ResolvedReadOptions {
  const options = resolveOptions(OPTIONS, given);
  const { passageWords, overlapWords, encoding } = options;
  if (overlapWords > passageWords / 2)
    throw new InputError({
      where: "overlapWords",
      expected: `at most half of passageWords, which is ${passageWords}`,
      got: `${overlapWords}`,
      remedy: "give a smaller overlap or longer passages",
    });
  if (encoding !== undefined && !isEncoding(encoding))
    throw new InputError({
      where: "encoding",
      expected: "an encoding such as utf-8, windows-1252 or shift_jis",
      got: excerpt(encoding),
      remedy: "give a name of the Encoding Standard",
    });
  return options;
}

async function* readSource(
  source: string,
  options: ResolvedReadOptions,
  name = nameOf(source),
): AsyncGenerator<Passage, void> {
  const stats = await statDocuments(source);
  const report: Report = (problem, isDamage = false) =>
    reportSkipped({ ...PART, file: name, problem, isDamage }, options);
  if (stats.isDirectory()) yield* readFolder(source, options);
  else if (await holdsPassages(source, options.readers))
    yield* readRecords(source, options, report);
  else {
    const file = sourceFile(source, name, { ...options, report });
    let isEmpty = true;
    for await (const passage of readFile(file, options)) {
      isEmpty = false;
      yield passage;
    }
    if (isEmpty) throw withoutText(file);
  }
}

/** The path of a file for its ids: relative to the working directory if the file is below it. */
function nameOf(file: string): string {
  const path = relative(process.cwd(), resolve(file));
  const name = path.startsWith("..") || isAbsolute(path) ? resolve(file) : path;
  return name.replaceAll(sep, "/");
}

type Report = SourceFile["report"];

/** What is said of a part of a file. */
export const PART = { isUnknownFormat: false, isPart: true };

/** The passages of a JSON Lines file, with their own ids, as they are or split. */
async function* readRecords(
  file: string,
  options: ResolvedReadOptions,
  report: Report,
): AsyncGenerator<Passage, void> {
  const ids = new RecordIds();
  let isEmpty = true;
  for await (const { line, value } of jsonLinesOf(file, report, options.signal)) {
    const budget = new Budget(`${file}:${line}`, options.signal);
    const passage = passageOfRecord(value, line, ids, budget);
    isEmpty = false;
    if (!options.splitRecords || passage.text.trim() === "") yield passage;
    else {
      const { id, title, text, document = id, metadata } = passage;
      const blocks = [{ text, headings: [] }];
      const place = { id, document, source: undefined, isRecord: true };
      yield* documentPassages({ title, blocks, metadata }, place, options);
    }
  }
  if (isEmpty) throw withoutText({ path: file });
  ids.report(file, report);
}

/** A record that names no text is text itself; one with an empty text is a passage without text. */
function passageOfRecord(value: unknown, line: number, ids: RecordIds, budget: Budget): Passage {
  const isObject = isFields(value);
  const { document, ...fields } = isObject ? value : { text: linesOf(value, budget) };
  const { id = `line ${line}`, title = "", text, others, metadata } = ids.fieldsOf(fields);
  const isEmpty = text === undefined && TEXT_NAMES.some((name) => fields[name] === "");
  const list = isEmpty ? "" : linesOf(text === undefined ? unwrapped(fields) : others, budget);
  const parent = identifier(document);
  return {
    id,
    title,
    text: [list, text ?? ""].filter((part) => part !== "").join("\n\n"),
    ...(parent !== undefined && { document: parent }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

async function* readFolder(
  folder: string,
  options: ResolvedReadOptions,
): AsyncGenerator<Passage, void> {
  let [passages, skipped] = [0, 0];
  const skip = (file: string, problem: InputError, isUnknownFormat = false): void => {
    skipped++;
    const isDamage = !isUnknownFormat;
    reportSkipped({ file, problem, isUnknownFormat, isPart: false, isDamage }, options);
  };
  const entries: FolderEntry[] = [];
  for await (const entry of filesOf(folder, undefined, options)) entries.push(entry);
  for (const [done, { path, name, problem }] of entries.entries()) {
    options.signal?.throwIfAborted();
    options.onProgress?.({ done, total: entries.length });
    if (problem) skip(name, problem);
    else if (!(await isReadable({ path, name }, options.readers)))
      skip(name, unknownFormat(path, options.readers), true);
    else
      try {
        const before = passages;
        const report: Report = (problem, isDamage = false) =>
          reportSkipped({ ...PART, file: name, problem, isDamage }, options);
        const file = sourceFile(path, name, { ...options, report });
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
  if (passages === 0) throw noDocument(folder, skipped, options.readers);
}

/**
 * The passages of one file.
 *
 * @throws {InputError} if it is damaged, also after some passages. A defect of a reader is one too,
 *   so that it costs one file and not a folder.
 */
export async function* readFile(
  file: SourceFile,
  options: Omit<ResolvedReadOptions, "onProgress">,
): AsyncGenerator<Passage, void> {
  const format = formatOf(file.name, options.readers);
  if (!format) throw unknownFormat(file.path, options.readers);
  yield* readAs(format, file, options);
}

/** What a document that is a value says of itself. */
export interface ValueFields {
  readonly title: string | undefined;
  readonly metadata: Metadata | undefined;
}

/** @param value of a file that is none: its passages have no path */
export async function* readAs(
  format: Pick<DocumentReader, "read">,
  file: SourceFile,
  options: Omit<ResolvedReadOptions, "onProgress">,
  value?: ValueFields,
): AsyncGenerator<Passage, void> {
  try {
    yield* passagesOf(format, file, options, value);
  } catch (error) {
    if (error instanceof InputError || options.signal?.aborted) throw error;
    throw defect(file.path, error, ownReaderOf(file.name, options.readers));
  }
}

async function* passagesOf(
  format: Pick<DocumentReader, "read">,
  file: SourceFile,
  options: Omit<ResolvedReadOptions, "onProgress">,
  value: ValueFields | undefined,
): AsyncGenerator<Passage, void> {
  const ids = createIdTable();
  let [number, repeated] = [0, 0];
  file.budget.resume();
  for await (const document of format.read(file)) {
    options.signal?.throwIfAborted();
    let { record } = document;
    if (record !== undefined && ids.firstLine(record, ++number) !== number) {
      repeated++;
      record = `record ${number}`;
    }
    const given = value?.title || document.title;
    const title = record === undefined && !value ? given || titleOf(file.name) : given;
    const place = placeOf(file.name, record);
    const metadata = { ...document.metadata, ...value?.metadata };
    const fields = JSON.stringify(metadata).length;
    const own = { ...document, title, metadata };
    const where = value ? { ...place, source: undefined } : place;
    for (const passage of documentPassages(own, where, options)) {
      file.budget.spend("written", fields + passage.title.length + passage.text.length);
      await file.budget.pause(); // the splitter works, too, and a reader may have no loop
      file.budget.suspend();
      yield passage;
      file.budget.resume();
    }
  }
  if (repeated > 0) file.report(repeatedIds(file.path, repeated));
}

/** `guide/getting-started.md` -> `getting started`. */
const titleOf = (name: string): string =>
  basename(name, extname(name.replace(/\.gz$/i, "")) + (/\.gz$/i.exec(name)?.[0] ?? ""))
    .replace(/[-_]+/g, " ")
    .trim();

/** Says what is skipped: to `onSkip`, or as a warning of the process. */
export function reportSkipped(
  skipped: SkippedFile,
  { onSkip }: Pick<ResolvedReadOptions, "onSkip"> = {},
): void {
  if (onSkip) onSkip(skipped);
  else {
    const verb = skipped.isPart ? "note:" : "skipped";
    process.emitWarning(`${verb} ${skipped.problem.message}`, "ReAttWarning");
  }
}

export const unknownFormat = (where: string, readers?: readonly DocumentReader[]): InputError =>
  new InputError({
    where,
    expected: `a document (${endingsText(readers)})`,
    got: extname(where) === "" ? "a file without an ending that is no text" : extname(where),
    remedy: "convert it, or rename it if it is text",
  });

export const withoutText = ({ path }: Pick<SourceFile, "path">): InputError =>
  new InputError({
    where: path,
    expected: "a document with text",
    got: "none",
    remedy: /\.pdf(\.gz)?$/i.test(path)
      ? "scanned pages need text recognition (OCR) first"
      : "add text or remove the file",
  });

const defect = (where: string, cause: unknown, ownReader: DocumentReader | undefined): InputError =>
  new InputError(
    {
      code: "ERR_REATT_DEFECT",
      where,
      expected: "a document that reatt can read",
      got: `a defect of ${ownReader ? "its reader" : "reatt"}: ${cause}`,
      remedy: ownReader
        ? "correct the reader: checkReader tests it"
        : "please report it, and ignore the file until it is mended",
    },
    { cause },
  );

const noDocument = (
  where: string,
  skipped: number,
  readers: readonly DocumentReader[] | undefined,
): InputError =>
  new InputError({
    where,
    expected: `a document with text (${endingsText(readers)})`,
    got: skipped === 0 ? "no file" : `only files that cannot be read: ${skipped}`,
    remedy: "check the path, and .gitignore and .reattignore",
  });
