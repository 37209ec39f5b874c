/**
 * Splits a document into passages. A passage has blocks of one section, as many as fit. A longer
 * block is split between sentences, items or lines, a longer sentence between words. Nothing is
 * cut: the texts of all passages without their overlap are the text of the document.
 *
 * What announces stays with what it announces: a term with its definition, a sentence that ends
 * with a colon with its list, a question with its answer. No passage ends with it. Where the list
 * or the definition is divided, each part repeats it, as the parts of a table repeat the head.
 *
 * A passage ends at the first of two limits: a number of words, and the number of tokens that the
 * model reads. DPR splits Wikipedia into passages of 100 words, and ReAtt uses them. English text
 * has about 1.4 tokens of T5 per word.
 *
 * Source: Karpukhin et al. 2020, Dense Passage Retrieval, section 4.1.
 */

import { type BlockKind, KINDS } from "../../text/block-kinds.ts";
import { announcesNext, type TextBlock } from "../../text/blocks.ts";
import { passagePrompt } from "../../text/tokens/prompts.ts";
import type { Tokenizer } from "../../text/tokens/tokenizer.ts";
import {
  countWords,
  halvesOf,
  lineUnits,
  sentenceUnits,
  type Unit,
  wordUnits,
} from "../../text/units.ts";
import type { Block, Document, Place } from "../tree/document.ts";

export interface SplitOptions {
  /** Counts tokens. Default: an estimate of one token for two characters. */
  readonly tokenizer?: Pick<Tokenizer, "encode" | "prompts"> | undefined;
  /** Tokens of a passage with its title and the prompt. */
  readonly maxPassageTokens: number;
  /** Words of a passage without its title. */
  readonly passageWords: number;
  /** Words that a passage repeats from the end of the passage before, of these words. */
  readonly overlapWords: number;
}

type Range = readonly [first: number, last: number];

export interface SplitPassage {
  /** The title of the document and the headings: `Guide > Installation > Linux`. */
  readonly title: string;
  /** The overlap or the head of the table, and the passage's own text. */
  readonly text: string;
  readonly own: string;
  /** The blocks of the text. */
  readonly blocks: readonly TextBlock[];
  readonly headings: readonly string[];
  /** Where its own text begins. */
  readonly place: Place;
  readonly lines?: Range | undefined;
  readonly pages?: Range | undefined;
  /** Of a notebook. */
  readonly cells?: Range | undefined;
}

/** A unit of a block. */
interface Part extends Unit {
  readonly block: Block;
  /** What announces the block; may be none. */
  readonly lead: readonly Part[];
}

/** A longer title becomes a block. */
const MAX_TITLE_LENGTH = 200; // characters
/** The share of a passage that title and headings may take. */
const TITLE_SHARE = 0.25;
/** The share of a passage that may be repeated: the head of a table, or what announces a list. */
const REPEATED_SHARE = 0.5;
/** The share of a passage that goes to the next one because it announces it. */
const LEAD_SHARE = 0.5;
const CHARACTERS_PER_TOKEN = 2;
/** Passages that have too many tokens are split into parts that are this much smaller. */
const MARGIN = 1.1;

export function* splitDocument(
  { title: given, blocks }: Pick<Document, "title" | "blocks">,
  options: SplitOptions,
): Generator<SplitPassage, void> {
  const isTitle = given.length <= MAX_TITLE_LENGTH;
  const all = isTitle ? blocks : [{ text: given, headings: [] }, ...blocks];
  for (const { headings, group } of sections(all)) {
    const path = pathOf([isTitle ? given : "", ...headings]);
    const section = new Section(path.join(" > "), headings, options);
    const limit = options.passageWords - options.overlapWords;
    for (const parts of packed(withDefinitions(group, limit), limit))
      yield* section.passages(parts);
  }
}

/**
 * Consecutive blocks under the same headings, of one slide, sheet or chapter. `group` must be read
 * before the next section.
 */
function* sections(
  blocks: Iterable<Block>,
): Generator<{ headings: readonly string[]; group: Iterable<Block> }> {
  const iterator = blocks[Symbol.iterator]();
  let next = iterator.next();
  while (!next.done) {
    const { headings, place } = next.value;
    const isSame = (block: Block): boolean =>
      block.headings.length === headings.length &&
      block.headings.every((heading, i) => heading === headings[i]) &&
      block.place?.slide === place?.slide &&
      block.place?.sheet === place?.sheet &&
      block.place?.chapter === place?.chapter &&
      (block.place?.page === place?.page || !block.place?.isSlide);
    const group = (function* (): Generator<Block> {
      for (; !next.done && isSame(next.value); next = iterator.next()) yield next.value;
    })();
    yield { headings, group };
  }
}

/** Title and headings without those whose words another one beside them has. */
function pathOf(parts: readonly string[]): string[] {
  const path: string[] = [];
  for (const part of parts) {
    const above = path.at(-1);
    if (part === "" || (above !== undefined && hasWordsOf(above, part))) continue;
    if (above !== undefined && hasWordsOf(part, above)) path.pop();
    path.push(part);
  }
  return path;
}

const wordSet = (text: string): ReadonlySet<string> =>
  new Set(text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [text]);

function hasWordsOf(text: string, other: string): boolean {
  const words = wordSet(text);
  return [...wordSet(other)].every((word) => words.has(word));
}

/** A block, and the words of a term with all that defines it; of another block, its own. */
type Sized = readonly [block: Block, words: number, withDefinition: number];

/** Looks ahead as far as a definition fits into a passage. */
function* withDefinitions(blocks: Iterable<Block>, limit: number): Generator<Sized, void> {
  let open: (readonly [block: Block, words: number])[] = [];
  let words = 0;
  const close = function* (): Generator<Sized, void> {
    for (const [i, [block, own]] of open.entries()) yield [block, own, i === 0 ? words : own];
    open = [];
    words = 0;
  };
  for (const block of blocks) {
    const own = countWords(block.text);
    const last = open.at(-1)?.[0];
    const goesOn = last?.kind === "term" || (last !== undefined && block.term !== undefined);
    if (!goesOn || words > limit) yield* close();
    open.push([block, own]);
    words += own;
    if (open.length === 1 && block.kind !== "term") yield* close();
  }
  yield* close();
}

/**
 * Groups of parts with at most `limit` words each, in order. A definition that fits is not divided.
 * What announces the next part, and no more than half of the limit, goes with it.
 */
function* packed(blocks: Iterable<Sized>, limit: number): Generator<Part[], void> {
  let group: Part[] = [];
  let words = 0;
  for (const [block, total, withDefinition] of blocks) {
    if (total === 0) continue;
    const breaks = withDefinition > total && withDefinition <= limit;
    const isLong = total > limit;
    const target = total / Math.ceil(total / limit); // parts of equal size, not a last short one
    const lead = announcing(group, limit);
    let isInside = false;
    for (const part of isLong ? partsOf(block, lead, limit) : [wholePart(block, lead, total)]) {
      const added = breaks ? withDefinition : part.words;
      const isFull = words + added > limit || (isInside && words >= target);
      if (group.length > 0 && (isFull || (isLong && !isInside))) {
        const kept = announcing(group, limit);
        const done = withoutEnd(group, kept);
        if (done.length > 0) {
          yield done;
          group = kept;
          words = wordsOf(kept);
        }
      }
      group.push(part);
      words += part.words;
      isInside = true;
    }
  }
  if (group.length > 0) yield group;
}

const wordsOf = (parts: readonly Part[]): number =>
  parts.reduce((sum, { words }) => sum + words, 0);

/** The end of a group that announces what follows: terms, notes, a sentence with a colon. */
function announcing(group: readonly Part[], limit: number): Part[] {
  const end: Part[] = [];
  for (const part of [...group].reverse()) {
    const last = announcement(part);
    if (!last || wordsOf(end) + last.words > LEAD_SHARE * limit) break;
    end.unshift(last);
    if (last !== part) break;
  }
  return end;
}

/** A part, or its last sentence, if that announces what follows. */
function announcement(part: Part): Part | undefined {
  const { block, start, end, words } = part;
  const { kind = "paragraph" } = block;
  const text = block.text.slice(start, end).trimEnd();
  if (!announcesNext(text, kind)) return undefined;
  const isWhole = KINDS[kind].leads || KINDS[kind].hasLines || text.endsWith("?");
  const sentence = isWhole ? undefined : [...unitsOf(part)].at(-1);
  return sentence && sentence.words < words ? sentence : part;
}

/** A group without its end, which can begin inside of a part. */
function withoutEnd(group: readonly Part[], end: readonly Part[]): Part[] {
  if (end.length === 0) return [...group];
  const rest = group.slice(0, group.length - end.length);
  const whole = group[rest.length]!;
  const cut = end[0]!;
  if (whole === cut) return rest;
  const own = whole.block.text.slice(whole.start, cut.start).trimEnd();
  return [...rest, { ...whole, end: whole.start + own.length, words: whole.words - cut.words }];
}

const wholePart = (block: Block, lead: readonly Part[], words: number): Part => ({
  ...{ block, lead, words },
  start: 0,
  end: block.text.length,
});

/** The units of a block that stay whole while they fit: sentences of a text, lines of others. */
function* partsOf(block: Block, lead: readonly Part[], limit: number): Generator<Part, void> {
  const { text, kind } = block;
  for (const unit of hasLines(block) ? lineUnits(text) : sentenceUnits(text))
    if (unit.words <= limit || kind === "table" || kind === "code") yield { ...unit, block, lead };
    else for (const smaller of smallerUnits(text, unit, limit)) yield { ...smaller, block, lead };
}

const hasLines = ({ kind = "paragraph" }: Block): boolean => KINDS[kind].hasLines;

/** The sentences of a long unit, and the words of long sentences. */
function* smallerUnits(text: string, { start, end }: Unit, limit: number): Generator<Unit, void> {
  for (const sentence of sentenceUnits(text.slice(start, end))) {
    const unit = { ...sentence, start: start + sentence.start, end: start + sentence.end };
    if (unit.words <= limit) yield unit;
    else yield* wordUnits(text, unit);
  }
}

/** The text of consecutive parts of one block. */
interface Piece {
  readonly text: string;
  readonly kind: BlockKind;
}

/** One section of a document: its title, and the end of its last passage. */
class Section {
  readonly #title: string;
  readonly #headings: readonly string[];
  readonly #options: SplitOptions;
  #overlap: readonly Piece[] = [];

  constructor(title: string, headings: readonly string[], options: SplitOptions) {
    this.#options = options;
    this.#headings = headings;
    this.#title = shortened(title, options);
  }

  /** One passage of the parts, or several if they have too many tokens. */
  *passages(parts: readonly Part[]): Generator<SplitPassage, void> {
    const pieces = piecesOf(parts);
    const own = joined(pieces);
    const { repeated, header } = this.#before(parts[0]!);
    const before = [joined(repeated), header].filter((text) => text !== "");
    const extended = [...before, own].join("\n");
    const fits = this.#excess(extended) <= 1;
    const text = fits ? extended : own;
    const excess = this.#excess(text);
    const smaller = excess > 1 ? dividedInto(parts, Math.ceil(excess * MARGIN)) : [];
    if (smaller.length > 1) {
      for (const group of smaller) yield* this.passages(group);
      return;
    }
    this.#overlap = piecesOf(lastUnits(parts, this.#options.overlapWords));
    const blocks = blocksIn(text, fits ? [...repeated, ...underHeader(header, pieces)] : pieces);
    yield { title: this.#title, text, own, blocks, headings: this.#headings, ...placeOf(parts) };
  }

  /**
   * The term, what announces the block that the passage continues, and the head of its table, as
   * far as they are short; else the end of the passage before.
   */
  #before({ block: { header = "", term = "" }, lead, start }: Part): {
    readonly repeated: readonly Piece[];
    readonly header: string;
  } {
    const isContinued = start > 0 && start >= header.length;
    const leads = isContinued ? piecesOf(lead) : [];
    const isNamed = term === "" || leads.some(({ text }) => text.includes(term));
    const announced: Piece[] = isNamed ? leads : [{ text: term, kind: "term" }, ...leads];
    const head = isContinued ? header : "";
    if (announced.length === 0 && head === "") return { repeated: this.#overlap, header: "" };
    const most = REPEATED_SHARE * this.#options.passageWords;
    const words = countWords(head);
    if (countWords(joined(announced)) + words <= most) return { repeated: announced, header: head };
    return { repeated: [], header: words <= most ? head : "" };
  }

  /** Tokens, as a multiple of the limit. */
  #excess(text: string): number {
    return countTokens(this.#title, text, this.#options) / this.#options.maxPassageTokens;
  }
}

/** The first of these pieces continues a table, whose head is repeated. */
const underHeader = (header: string, [first, ...others]: readonly Piece[]): readonly Piece[] =>
  header === ""
    ? [first!, ...others]
    : [{ ...first!, text: `${header}\n${first!.text}` }, ...others];

/** The places of pieces that follow each other in a text. */
function blocksIn(text: string, pieces: readonly Piece[]): TextBlock[] {
  let from = 0;
  return pieces.flatMap(({ text: own, kind }) => {
    const trimmed = own.trim();
    if (trimmed === "") return [];
    const start = text.indexOf(trimmed, from);
    from = start + trimmed.length;
    return [{ kind, start, end: from }];
  });
}

/** Includes the prompt and `</s>`. */
export function countTokens(
  title: string,
  text: string,
  { tokenizer }: Pick<SplitOptions, "tokenizer">,
): number {
  const prompt = passagePrompt({ title, text }, tokenizer?.prompts);
  return 1 + (tokenizer?.encode(prompt).length ?? Math.ceil(prompt.length / CHARACTERS_PER_TOKEN));
}

/** Keeps the end of a long title: the innermost headings say most. */
function shortened(title: string, options: SplitOptions): string {
  const limit = TITLE_SHARE * options.maxPassageTokens;
  let short = title;
  for (let tokens = countTokens(short, "", options); tokens > limit && short.length > 1; ) {
    const length = Math.min(short.length - 1, Math.floor((short.length * limit) / tokens));
    short = short.slice(short.length - Math.max(1, length)).replace(/^[\udc00-\udfff]/, "");
    if (length < 1) return "";
    tokens = countTokens(short, "", options);
  }
  return short;
}

/** Divides parts into `count` groups of about the same number of words, or a single part. */
function dividedInto(parts: readonly Part[], count: number): Part[][] {
  const last = parts.at(-1)!;
  if (parts.length === 1) return dividedPart(last, count);
  const leads = parts.slice(0, -1);
  if (leads.every((part) => announcement(part) === part)) {
    const [first, ...others] = dividedPart(last, count);
    if (first) return [[...leads, ...first], ...others];
  }
  const total = parts.reduce((sum, { words }) => sum + words, 0);
  const groups = Array.from({ length: count }, (): Part[] => []);
  let before = 0;
  for (const part of parts) {
    groups[Math.min(count - 1, Math.floor((before / total) * count))]!.push(part);
    before += part.words;
  }
  const filled = groups.filter((group) => group.length > 0);
  return filled.length > 1 ? announcedTogether(filled) : [parts.slice(0, 1), parts.slice(1)];
}

/** Groups none of which ends with what announces the next one, unless it is all of the group. */
function announcedTogether(groups: readonly (readonly Part[])[]): Part[][] {
  const all = groups.map((group) => [...group]);
  for (const [i, group] of all.slice(0, -1).entries()) {
    const kept = announcing(group, Infinity);
    const done = withoutEnd(group, kept);
    if (done.length === 0) continue;
    all[i] = done;
    all[i + 1]!.unshift(...kept);
  }
  return all;
}

/** The lines of a part, else its sentences, words or halves of a word; none for a character. */
function dividedPart({ block, lead, start, end, words }: Part, count: number): Part[][] {
  const text = block.text.slice(start, end);
  const whole: Unit = { start: 0, end: text.length, words };
  const lines = hasLines(block) ? [...lineUnits(text)] : [];
  const sentences = lines.length > 1 ? lines : [...sentenceUnits(text)];
  const smaller = words > 1 ? [...wordUnits(text, whole)] : (halvesOf(text, whole) ?? []);
  const parts = (sentences.length > 1 ? sentences : smaller).map((unit) => ({
    ...{ block, lead },
    words: unit.words,
    start: start + unit.start,
    end: start + unit.end,
  }));
  return parts.length > 1 ? dividedInto(parts, count) : [];
}

/** The texts of consecutive parts, one for each block. */
function piecesOf(parts: readonly Part[]): Piece[] {
  const pieces: Piece[] = [];
  for (let first = 0; first < parts.length; ) {
    const { block, start } = parts[first]!;
    let last = first;
    while (parts[last + 1]?.block === block) last++;
    const { kind = "paragraph" } = block;
    pieces.push({ text: block.text.slice(start, parts[last]!.end), kind });
    first = last + 1;
  }
  return pieces;
}

const joined = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join("\n\n");

function placeOf(
  parts: readonly Part[],
): Pick<SplitPassage, "place" | "lines" | "pages" | "cells"> {
  const [first, last] = [parts[0]!, parts.at(-1)!];
  const place = first.block.place ?? {};
  const from = lineAt(first.block, first.start);
  const to = lineAt(last.block, last.end - 1);
  const { page, cell } = last.block.place ?? {};
  return {
    place,
    ...(from !== undefined && to !== undefined && { lines: [from, Math.max(from, to)] }),
    ...(place.page !== undefined && { pages: [place.page, page ?? place.page] }),
    ...(place.cell !== undefined && { cells: [place.cell, cell ?? place.cell] }),
  };
}

/** The line that a position in the text of a block stands on. */
function lineAt({ lines = [] }: Block, at: number): number | undefined {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (lines[middle]![0] <= at) low = middle + 1;
    else high = middle;
  }
  return lines[Math.max(0, low - 1)]?.[1];
}

/** The last sentences or lines with at most `limit` words, or the last words of a long sentence. */
function lastUnits(parts: readonly Part[], limit: number): readonly Part[] {
  if (limit === 0) return [];
  const kept: Part[] = [];
  let words = 0;
  for (const part of [...parts].reverse())
    for (const unit of [...unitsOf(part)].reverse()) {
      words += unit.words;
      if (words > limit) return kept.length > 0 ? kept : lastWords(part, limit);
      kept.unshift(unit);
    }
  return kept;
}

function* unitsOf({ block, lead, start, end }: Part): Generator<Part, void> {
  const text = block.text.slice(start, end);
  for (const unit of hasLines(block) ? lineUnits(text) : sentenceUnits(text))
    yield { block, lead, words: unit.words, start: start + unit.start, end: start + unit.end };
}

/** None of a row or a line of code, which are not cut. */
const lastWords = ({ block, lead, ...unit }: Part, limit: number): Part[] =>
  hasLines(block)
    ? []
    : [...wordUnits(block.text, unit)].slice(-limit).map((word) => ({ ...word, block, lead }));
