/** What the readers of `readers/` make of a file: documents, which consist of blocks. */

import type { Metadata } from "../text/passage.ts";
import type { SourceFile } from "./source-file.ts";

/** A paragraph, a list, a table, the code between two fences: text that belongs together. */
export interface Block {
  /** Not empty. It may have line breaks. */
  readonly text: string;
  /** The headings above it, from the outermost to the innermost. */
  readonly headings: readonly string[];
  /** The first and the last line of the file that it comes from, counted from 1. */
  readonly lines?: readonly [first: number, last: number] | undefined;
  /** The page that it is on, counted from 1. */
  readonly page?: number | undefined;
}

/** The text of a file, or of one record of a file of records (CSV, JSON). */
export interface Document {
  /** Identifies the record in its file. Undefined for a file that is one document. */
  readonly record?: string | undefined;
  /** May be empty. */
  readonly title: string;
  readonly blocks: Iterable<Block>;
  readonly metadata?: Metadata | undefined;
}

/**
 * Reads the documents of a file. It throws `InputError` if the file is damaged, also after some
 * documents.
 */
export type Reader = (file: SourceFile) => AsyncIterable<Document> | Iterable<Document>;
