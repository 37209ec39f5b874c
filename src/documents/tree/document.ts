/** What a reader makes of a file: documents, which consist of blocks. */

import type { BlockKind } from "../../text/block-kinds.ts";
import type { Metadata } from "../../text/passage.ts";

/** A paragraph, a list, a table, code: text that belongs together. */
export interface Block {
  /** Not empty. It may have line breaks. */
  readonly text: string;
  /** What the text is (kinds.ts). Default: a paragraph. */
  readonly kind?: BlockKind | undefined;
  /** The first lines of a table, which name the columns. Each part of the table repeats them. */
  readonly header?: string | undefined;
  /** What it defines, of the blocks below a term. A part that the term is far from repeats it. */
  readonly term?: string | undefined;
  /** The headings above it, from the outermost to the innermost. */
  readonly headings: readonly string[];
  /** From the position `at` in the text on, it stands on `line` of the file. In ascending order. */
  readonly lines?: readonly (readonly [at: number, line: number])[] | undefined;
  /** Where it stands, if not on lines of a text file. */
  readonly place?: Place | undefined;
}

/** A position in the text of a block, and its line. */
export type LineMark = NonNullable<Block["lines"]>[number];

/** Where a block stands in its file. All numbers are counted from 1. */
export interface Place {
  /** The page. */
  readonly page?: number;
  /** Whether the page is a slide, so that no passage goes on to the next one. */
  readonly isSlide?: boolean;
  /** The cell of a notebook. */
  readonly cell?: number;
  /** No passage has blocks of two slides, two sheets or two chapters. */
  readonly slide?: number;
  /** Lines are the rows of the sheet. */
  readonly sheet?: string;
  /** The chapter of a book. */
  readonly chapter?: number;
}

/** The text of a file, or of one record of a file of records (CSV, JSON). */
export interface Document {
  /** Identifies the record in its file. Undefined for a file that is one document. */
  readonly record?: string | undefined;
  /** May be empty. */
  readonly title: string;
  /** Its text in parts, in their order. */
  readonly blocks: Iterable<Block>;
  /** The fields of each of its passages. */
  readonly metadata?: Metadata | undefined;
}
