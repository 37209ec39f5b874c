/** The kinds of blocks: what a text of a document is. */

export interface KindOfBlock {
  /** Whether its lines are items, rows or lines of code, which are not joined and not cut. */
  readonly hasLines: boolean;
  /** Whether it belongs to the block that follows, and to every part of it. */
  readonly leads: boolean;
}

const TEXT: KindOfBlock = { hasLines: false, leads: false };
const LINES: KindOfBlock = { hasLines: true, leads: false };
const LEAD: KindOfBlock = { hasLines: false, leads: true };

export const KINDS = {
  /** Running text, whose line breaks have no meaning. */
  paragraph: TEXT,
  quotation: TEXT,
  /** Items, one a line. */
  list: LINES,
  table: LINES,
  code: LINES,
  /** What the next block defines: an option, a word, a command. */
  term: LEAD,
  /** What names the table or the picture that follows. */
  caption: LEAD,
  /** The title of a note: "Warning". */
  note: LEAD,
} satisfies Readonly<Record<string, KindOfBlock>>;

export type BlockKind = keyof typeof KINDS;
