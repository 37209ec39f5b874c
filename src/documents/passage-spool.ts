/** Documents as a file of passages (JSON Lines), which can be read more than once. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createTemporaryDirectory } from "../io/create-directory.ts";
import { InputError } from "../io/errors.ts";
import type { OpenFile } from "../io/open-file.ts";
import { replaceFile } from "../io/replace-file.ts";
import type { Passage } from "../text/passage.ts";
import { readPassages } from "../text/read-passages.ts";
import type { DocumentReader } from "./define-reader.ts";
import { holdsPassages, statDocuments } from "./passage-file.ts";
import { type ReadDocumentsOptions, readDocuments } from "./read-documents.ts";

/** Passages that are written together. */
const PASSAGES_PER_WRITE = 1_000;

export interface PassageSpool extends AsyncDisposable {
  readonly file: string;
  /** Whether the file was made of documents. */
  readonly isConverted: boolean;
}

/**
 * The file of passages of `source`: itself, or a temporary one that the documents are written to.
 * Documents are read once, so their passages do not change between two passes over them.
 */
export async function spoolPassages(
  source: string,
  options: ReadDocumentsOptions,
): Promise<PassageSpool> {
  const { splitRecords, readers, signal } = options;
  const isAsIs = !splitRecords && (await isPassageFile(source, readers));
  if (isAsIs && (await arePassages(source, signal)))
    return { file: source, isConverted: false, [Symbol.asyncDispose]: async () => {} };
  const folder = await createTemporaryDirectory("passages");
  const remove = () => rm(folder, { recursive: true, force: true });
  const file = join(folder, "passages.jsonl");
  try {
    await writePassages(file, readDocuments(source, options));
    return { file, isConverted: true, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Whether `source` is a file of passages. @throws {InputError} if it does not exist */
export async function isPassageFile(
  source: string,
  readers?: readonly DocumentReader[],
): Promise<boolean> {
  if (source === "-") return false;
  const stats = await statDocuments(source);
  return !stats.isDirectory() && (await holdsPassages(source, readers));
}

/** Whether all lines of a file are passages with ids of their own, so that none has to change. */
async function arePassages(file: string, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    for await (const _ of readPassages(file, signal));
    return true;
  } catch (error) {
    if (error instanceof InputError) return false; // reading the records says what is wrong
    throw error;
  }
}

/** Writes passages as JSON Lines. The file is whole or absent. */
export const writePassages = (file: string, passages: AsyncIterable<Passage>): Promise<void> =>
  replaceFile(file, (handle) => writeLines(handle, passages));

async function writeLines(handle: OpenFile, passages: AsyncIterable<Passage>): Promise<void> {
  let lines: string[] = [];
  for await (const { id: _id, ...passage } of passages) {
    lines.push(`${JSON.stringify({ _id, ...passage })}\n`);
    if (lines.length < PASSAGES_PER_WRITE) continue;
    await handle.writeFile(lines.join(""));
    lines = [];
  }
  await handle.writeFile(lines.join(""));
}
