/** The kinds of blocks: what a text of a document is. */

export interface KindOfBlock {
  /** Stands for the kind in the field `_blocks` of a passage. */
  readonly letter: string;
  /** Whether its lines are items, rows or lines of code, which are not joined and not cut. */
  readonly hasLines: boolean;
  /** Whether it belongs to the block that follows, and to every part of it. */
  readonly leads: boolean;
}

const TEXT = { hasLines: false, leads: false };
const LINES = { hasLines: true, leads: false };
const LEAD = { hasLines: false, leads: true };

export const KINDS = {
  /** Running text, whose line breaks have no meaning. */
  paragraph: { letter: "p", ...TEXT },
  quotation: { letter: "q", ...TEXT },
  /** Items, one a line. */
  list: { letter: "l", ...LINES },
  table: { letter: "t", ...LINES },
  code: { letter: "c", ...LINES },
  /** What the next block defines: an option, a word, a command. */
  term: { letter: "d", ...LEAD },
  /** What names the table or the picture that follows. */
  caption: { letter: "f", ...LEAD },
  /** The title of a note: "Warning". */
  note: { letter: "n", ...LEAD },
} satisfies Readonly<Record<string, KindOfBlock>>;

export type BlockKind = keyof typeof KINDS;
