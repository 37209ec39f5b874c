/** What a reader makes of a file: documents, which consist of blocks. */

import type { Metadata } from "../../text/passage.ts";
import type { BlockKind } from "./kinds.ts";

/** A paragraph, a list, a table, code: text that belongs together. */
export interface Block {
  /** Not empty. It may have line breaks. */
  readonly text: string;
  /** What the text is (kinds.ts). Default: a paragraph. */
  readonly kind?: BlockKind | undefined;
  /** The first lines of a table, which name the columns. Each part of the table repeats them. */
  readonly header?: string | undefined;
  /** The headings above it, from the outermost to the innermost. */
  readonly headings: readonly string[];
  readonly lines?: readonly LineMark[] | undefined;
  readonly place?: Place | undefined;
}

/** From the position `at` in the text of a block on, it stands on `line` of the file. */
export type LineMark = readonly [at: number, line: number];

/** Where a block stands in its file. All numbers are counted from 1. */
export interface Place {
  readonly page?: number;
  /** Whether the page is a slide, so that no passage goes on to the next one. */
  readonly isSlide?: boolean;
  /** The cell of a notebook. */
  readonly cell?: number;
  /** No passage has blocks of two slides, two sheets or two chapters. */
  readonly slide?: number;
  /** Lines are the rows of the sheet. */
  readonly sheet?: string;
  readonly chapter?: number;
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
