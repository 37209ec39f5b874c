/**
 * The blocks of a passage: its paragraphs, lists, tables, code, terms. What reads documents knows
 * them; a passage keeps them in its field `_blocks`, if they are not those that its text shows.
 *
 * `p120 l340` is a paragraph up to position 120 of the text, and behind the white space a list up
 * to position 340. The letters are those of `block-kinds.ts`.
 */

import { type BlockKind, KINDS } from "./block-kinds.ts";
import { barsIn, isFieldOfSeveral, isItem } from "./cells.ts";
import type { PassageInput } from "./passage.ts";
import type { Span } from "./span.ts";
import { countWords } from "./units.ts";

/** A part of the text of a passage: `text.slice(start, end)`. */
export interface TextBlock extends Span {
  readonly kind: BlockKind;
}

/** Words of a question that the next block answers. */
const MAX_QUESTION_WORDS = 30;

/** Whether a text says what the next block is: a term, a question, a sentence with a colon. */
export function announcesNext(text: string, kind: BlockKind): boolean {
  const { hasLines, leads } = KINDS[kind];
  if (leads || (kind !== "table" && /[:：]\s*$/u.test(text))) return true;
  return !hasLines && /^[^.!?]*\?\s*$/u.test(text) && countWords(text) <= MAX_QUESTION_WORDS;
}

const FIELD = "_blocks";
const ENTRY = /^(?<letter>[a-z])(?<end>\d+)$/;
const KIND_OF: ReadonlyMap<string, BlockKind> = new Map(
  Object.entries(KINDS).map(([kind, { letter }]) => [letter, kind as BlockKind]),
);

/** The blocks of a passage, in order. They cover all characters but white space. */
export function blocksOf({ text, metadata }: Pick<PassageInput, "text" | "metadata">): TextBlock[] {
  return parsed(text, metadata?.[FIELD]) ?? blocksByRule(text);
}

/** The metadata that keep the blocks of a text; none if the text shows them. */
export function blockField(
  text: string,
  blocks: readonly TextBlock[],
): { readonly [FIELD]?: string } {
  const written = fieldOf(blocks);
  return written === fieldOf(blocksByRule(text)) ? {} : { [FIELD]: written };
}

const fieldOf = (blocks: readonly TextBlock[]): string =>
  blocks.map(({ kind, end }) => `${KINDS[kind].letter}${end}`).join(" ");

/** Undefined for a field of another form, or of another text. */
function parsed(text: string, field: unknown): TextBlock[] | undefined {
  if (typeof field !== "string") return undefined;
  const blocks: TextBlock[] = [];
  let from = 0;
  for (const entry of field.split(" ")) {
    const { letter = "", end: written } = ENTRY.exec(entry)?.groups ?? {};
    const kind = KIND_OF.get(letter);
    const end = Number(written);
    const start = from + text.slice(from).search(/\S/);
    if (!kind || start < from || end <= start || end > text.length) return undefined;
    blocks.push({ kind, start, end });
    from = end;
  }
  return text.slice(from).trim() === "" ? blocks : undefined;
}

const CHUNK = /\S.*(?:\n(?![^\S\n]*(?:\n|$)).*)*/g;

/**
 * The blocks that a text without markup shows: blank lines divide them, lines with marks are a
 * list, fields of a record too, and lines with as many bars a table. Lines above a list or a table
 * are a paragraph.
 */
export function blocksByRule(text: string): TextBlock[] {
  return Array.from(text.matchAll(CHUNK)).flatMap(({ 0: chunk, index }) => {
    const lines = chunk.trimEnd().split("\n");
    const { kind, first } = shapeOf(lines);
    const above = lines.slice(0, first).join("\n").trimEnd();
    const start = index + (first > 0 ? lines.slice(0, first).join("\n").length + 1 : 0);
    const block = { kind, start, end: index + chunk.trimEnd().length };
    return above === ""
      ? [block]
      : [{ kind: "paragraph" as const, start: index, end: index + above.length }, block];
  });
}

/** The kind of the lines from the `first` of these on. */
function shapeOf(lines: readonly string[]): { readonly kind: BlockKind; readonly first: number } {
  const bars = lines.map((line) => barsIn(line).length);
  let row = lines.length - 1;
  while (row > 0 && bars[row - 1] === bars[row]) row--;
  if (bars[row]! > 0 && row < lines.length - 1) return { kind: "table", first: row };
  if (lines.every((_, i) => isFieldOfSeveral(lines, i))) return { kind: "list", first: 0 };
  const items = lines.flatMap((line, i) => (isItem(line) ? i : []));
  const [first = -1] = items;
  const isList = first === 0 || items.length > 1 || lines[first - 1]?.trimEnd().endsWith(":");
  return isList && first >= 0 ? { kind: "list", first } : { kind: "paragraph", first: 0 };
}
