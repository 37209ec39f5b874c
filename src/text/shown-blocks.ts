/**
 * The blocks of a passage as people read them: each with what announces it, a term before its
 * definition, a sentence before its list. A long one is shortened to its most important part.
 */

import { type BlockKind, KINDS } from "./block-kinds.ts";
import { announcesNext, blocksOf, type TextBlock } from "./blocks.ts";
import { isItem } from "./cells.ts";
import type { PassageInput } from "./passage.ts";
import type { Span } from "./span.ts";
import { countWords, lineUnits, sentenceUnits } from "./units.ts";

/** A block with what announces it. */
export interface ShownBlock extends Span {
  readonly kind: BlockKind;
  /** Where the block itself begins, behind what announces it. */
  readonly body: number;
}

/** A block, or the part of it that is shown. */
export interface Excerpt {
  /** Of a part, what announces the block, or the head of a table, stands before it on a line. */
  readonly text: string;
  /** Where the part is in the text of the passage. */
  readonly span: Span;
  /** Where `text` has the part: behind what is repeated. */
  readonly offset: number;
}

/** A longer block is shortened. Chosen on the questions about documents of the dev set. */
const MAX_WORDS = 100;
/** Of a longer paragraph that announces the next block, only the last sentence goes with it. */
const MAX_LEAD_WORDS = 25;

export function shownBlocks(passage: Pick<PassageInput, "text" | "metadata">): ShownBlock[] {
  const { text } = passage;
  const blocks = blocksOf(passage);
  const shown: ShownBlock[] = [];
  let lead: number | undefined;
  for (const [i, block] of blocks.entries()) {
    const { kind, start: body, end } = block;
    const own = text.slice(body, end);
    const leads = i + 1 < blocks.length && announcesNext(own, kind);
    const isShort = countWords(own) <= MAX_LEAD_WORDS;
    if (!leads || !isShort) shown.push({ kind, start: lead ?? body, body, end });
    if (!leads) lead = undefined;
    else if (!isShort) lead = lastSentence(text, block);
    else lead ??= body;
  }
  return shown;
}

const lastSentence = (text: string, { start, end }: TextBlock): number =>
  start + [...sentenceUnits(text.slice(start, end))].at(-1)!.start;

/** A block as it is, or if it is long, its part with the greatest weight and what is around it. */
export function excerptOf(
  text: string,
  block: ShownBlock,
  weightOf: (span: Span) => number,
): Excerpt {
  const { start, end, body } = block;
  const whole = { text: text.slice(start, end), span: { start, end }, offset: 0 };
  if (countWords(whole.text) <= MAX_WORDS) return whole;
  const segments = segmentsOf(text, { kind: block.kind, start: body, end });
  const announcement = text.slice(start, body).trim();
  const rows = block.kind === "table" ? headRows(text, segments) : 0;
  const names = rows > 0 ? text.slice(segments[0]!.start, segments[rows - 1]!.end) : "";
  const repeated = [announcement, names].filter((part) => part !== "").join("\n");
  const span = heaviest(text, segments.slice(rows), MAX_WORDS - countWords(repeated), weightOf);
  if (span.start === (rows > 0 ? segments[rows]!.start : body) && span.end === end) return whole;
  const before = repeated === "" ? "" : `${repeated}\n`;
  return { text: before + text.slice(span.start, span.end), span, offset: before.length };
}

/** What is shown or left out as one: sentences, items with all their lines, rows. */
export function segmentsOf(text: string, { kind, start, end }: TextBlock): Span[] {
  const own = text.slice(start, end);
  const units = [...(KINDS[kind].hasLines ? lineUnits(own) : sentenceUnits(own))];
  const lines = units.map((unit) => ({ start: start + unit.start, end: start + unit.end }));
  if (kind !== "list") return lines;
  const items: Span[] = [];
  for (const line of lines) {
    const last = items.at(-1);
    if (!last || isItem(text.slice(line.start, line.end))) items.push(line);
    else items[items.length - 1] = { start: last.start, end: line.end };
  }
  return items;
}

const HYPHENS = /^[\s|:-]+$/;

/** The number of rows that name the columns; none of a table of two rows. */
function headRows(text: string, rows: readonly Span[]): number {
  if (rows.length < 3) return 0;
  return HYPHENS.test(text.slice(rows[1]!.start, rows[1]!.end)) ? 2 : 1;
}

/** Consecutive parts with at most `limit` words, from the heaviest on; at least that one. */
function heaviest(
  text: string,
  parts: readonly Span[],
  limit: number,
  weightOf: (span: Span) => number,
): Span {
  const words = parts.map(({ start, end }) => countWords(text.slice(start, end)));
  const weights = parts.map(weightOf);
  let first = weights.indexOf(Math.max(...weights));
  let last = first;
  for (let total = words[first]!; ; ) {
    const fits = (i: number): boolean => i in words && total + words[i]! <= limit;
    const around = [last + 1, first - 1].filter(fits);
    if (around.length === 0) break;
    const next = around.reduce((a, b) => (weights[b]! > weights[a]! ? b : a));
    total += words[next]!;
    first = Math.min(first, next);
    last = Math.max(last, next);
  }
  return { start: parts[first]!.start, end: parts[last]!.end };
}
