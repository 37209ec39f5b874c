/**
 * Plain text: blocks between blank lines. Lists, tables and conversations keep their lines; the
 * lines of running text and of an item are joined.
 */

import { isContents } from "./contents.ts";
import type { Block, LineMark } from "./document.ts";
import { consecutiveLines } from "./outline.ts";

/** `- item`, `3. item`, `b) item`, `* item`, `o item` */
const ITEM = /^[ \t]{0,20}(?:[-*•·–+]|o(?= )|\(?(?:\d{1,4}|[a-z])[.)])[ \t]/i;
/** An item without another one beside it: `A. Finn` is none. */
const SURE_ITEM = /^[ \t]{0,20}(?:[-*•·–+]|o(?= )|\(?\d{1,3}[.)])[ \t]+\S/;
/** Columns are separated by tabs, bars or three spaces. */
const COLUMNS = /\S(?:\t+| {3,}| \| )\S/;
/** What somebody says at a time: `[09:00] Orla:`, `12/05/2024, 10:15 - Orla:`, `00:01:02 Orla`. */
const TIMED = /^[[(<]?(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}[,T]?\s?)?\d{1,2}:\d{2}(?::\d{2})?\b/;
/** `Orla Finn: `, of which a conversation has several lines. */
const SPEAKER = /^(\p{Lu}[\p{L}.'’-]{0,30}(?: [\p{L}.'’-]{1,30}){0,3}):\s+\S/u;
/** The share of the longest line that a line of running text has at least, but the last one. */
const FILLED = 0.6;
const MIN_FILLED = 55; // characters
/** The share of letters among the characters of running text, at least. */
const LETTERS = 0.75;
/** Lines that these are counted in. */
const SAMPLE = 50;
/** A hyphen that a program wrote where it divided a word. */
const HYPHEN = "\u2010";
const MAX_TERM_LENGTH = 60; // characters
const MAX_LEVELS = 5;

/** Lines between blank lines. */
export interface Chunk {
  readonly lines: readonly string[];
  /** The line of the file of the first one. */
  readonly first: number;
}

export function* chunksOf(text: string): Generator<Chunk, undefined> {
  let lines: string[] = [];
  let start = 1;
  for (const { line, number } of numberedLines(text)) {
    if (line.trim() !== "") {
      if (lines.length === 0) start = number;
      lines.push(line);
    } else if (lines.length > 0) {
      yield { lines, first: start };
      lines = [];
    }
  }
  if (lines.length > 0) yield { lines, first: start };
}

/** The blocks of a text. Tables of contents are left out. */
export function* paragraphs(text: string): Generator<Block> {
  yield* joinedLists(allBlocks(text));
}

function* allBlocks(text: string): Generator<Block> {
  for (const chunk of chunksOf(text)) yield* blocksOfChunk(chunk);
}

/** @param level of definitions inside of each other */
export function* blocksOfChunk({ lines, first }: Chunk, level = 0): Generator<Block> {
  if (isContents(lines)) return;
  if (isConversation(lines)) yield asWritten(lines, first, "list");
  else if (isItemized(lines)) yield* listBlocks(lines, first);
  else if (isTable(lines)) yield asWritten(lines, first, "table");
  else if (level < MAX_LEVELS && isDefinition(lines)) {
    const indent = indentOf(lines[0]!);
    const at = lines.findIndex((line) => indentOf(line) > indent);
    const term = asWritten(lines.slice(0, at), first, "term");
    yield term;
    const definition = { lines: lines.slice(at), first: first + at };
    for (const block of blocksOfChunk(definition, level + 1))
      yield { ...block, term: block.term ?? term.text };
  } else if (isFilled(lines)) yield { ...reflowed(lines, first), headings: [] };
  else yield asWritten(lines, first);
}

export const indentOf = (line: string): number => line.length - line.trimStart().length;

const leastIndent = (lines: readonly string[]): number =>
  lines.reduce((least, line) => Math.min(least, indentOf(line)), Infinity);

/** The lines of a block as they are, without the indentation that all of them have. */
function asWritten(lines: readonly string[], first: number, kind?: Block["kind"]): Block {
  const indent = leastIndent(lines);
  const text = lines
    .map((line) => line.slice(indent))
    .join("\n")
    .trimEnd();
  return { text, ...(kind && { kind }), headings: [], lines: [...consecutiveLines(text, first)] };
}

/** Half of the lines begin with a time, or with the names of people of whom one speaks twice. */
function isConversation(lines: readonly string[]): boolean {
  if (lines.length < 2) return false;
  if (lines.filter((line) => TIMED.test(line)).length >= 0.5 * lines.length) return true;
  const speakers = lines.flatMap((line) => SPEAKER.exec(line)?.[1] ?? []);
  return speakers.length >= 0.5 * lines.length && new Set(speakers).size < speakers.length;
}

const isTable = (lines: readonly string[]): boolean =>
  lines.length > 1 && lines.filter((line) => COLUMNS.test(line)).length > 0.7 * lines.length;

/** A short line, or several, above lines that are indented. */
function isDefinition(lines: readonly string[]): boolean {
  const indent = indentOf(lines[0]!);
  const at = lines.findIndex((line) => indentOf(line) > indent);
  const terms = lines.slice(0, Math.max(0, at));
  return (
    terms.length > 0 &&
    terms.every((line) => indentOf(line) === indent && line.trim().length <= MAX_TERM_LENGTH) &&
    lines.slice(at).every((line) => indentOf(line) > indent)
  );
}

/** Whether the lines are those of running text, which a program filled. */
function isFilled(lines: readonly string[]): boolean {
  const sample = lines.slice(0, SAMPLE).join("");
  const indent = indentOf(lines.at(-1)!);
  const longest = lines.reduce((most, line) => Math.max(most, line.length), 0);
  return (
    lines.length > 1 &&
    longest >= MIN_FILLED &&
    lines.slice(1).every((line) => indentOf(line) === indent) &&
    lines.slice(0, -1).every((line) => line.length >= FILLED * longest) &&
    !lines.some(isCode) &&
    (sample.match(/\p{L}/gu) ?? []).length >= LETTERS * sample.replace(/\s+/g, "").length
  );
}

/** Also a quotation of a mail, whose lines have marks. */
const isCode = (line: string): boolean =>
  /[{};\\]$/.test(line.trimEnd()) || /^[>#$%]/.test(line.trimStart());

/** Lines as one, a space where a line ended. */
function reflowed(lines: readonly string[], first: number): { text: string; lines: LineMark[] } {
  let text = "";
  const marks: LineMark[] = [];
  for (const [i, line] of lines.entries()) {
    const own = line.trim().replace(/(?<=\S) {2,}(?=\S)/g, " ");
    const isDivided = text.endsWith(HYPHEN) && /^\p{Ll}/u.test(own);
    if (isDivided) text = text.slice(0, -1);
    else if (i > 0) text += " ";
    marks.push([text.length, first + i]);
    text += own;
  }
  return { text, lines: marks };
}

/** Whether lines are items and lines that continue them, from the first item on. */
function isItemized(lines: readonly string[]): boolean {
  const marks = lines.map((line) => ITEM.test(line));
  const first = marks.indexOf(true);
  const count = marks.filter(Boolean).length;
  if (count < 2) return first === 0 && SURE_ITEM.test(lines[0]!);
  let indent = 0; // of the item
  const isContinued = lines.every((line, i) => {
    if (marks[i]) indent = indentOf(line);
    return i < first || marks[i] || indentOf(line) > indent;
  });
  return count > 0.5 * lines.length || (first === 0 && isContinued);
}

/** A list with an item a line, below what stands above its first item. */
function* listBlocks(lines: readonly string[], first: number): Generator<Block> {
  const above = lines.findIndex((line) => ITEM.test(line));
  if (above > 0) yield* blocksOfChunk({ lines: lines.slice(0, above), first });
  const items: { own: string[]; first: number }[] = [];
  for (const [i, line] of lines.entries())
    if (i >= above && ITEM.test(line)) items.push({ own: [line], first: first + i });
    else items.at(-1)?.own.push(line);
  yield listOf(items.map((item) => ({ ...reflowed(item.own, item.first), from: item.own[0]! })));
}

/** @param items each with its first line, whose indentation it keeps */
function listOf(items: readonly { text: string; lines: LineMark[]; from: string }[]): Block {
  const indent = leastIndent(items.map(({ from }) => from));
  let text = "";
  const lines: LineMark[] = [];
  for (const item of items) {
    text += `${text && "\n"}${" ".repeat(indentOf(item.from) - indent)}`;
    for (const [at, line] of item.lines) lines.push([text.length + at, line]);
    text += item.text;
  }
  return { text, kind: "list", headings: [], lines };
}

/** Lists with blank lines between their items are one list. */
export function* joinedLists(blocks: Iterable<Block>): Generator<Block> {
  const open: Block[] = [];
  for (const block of blocks) {
    if (block.kind === "list") {
      if (open.length > 0 && open[0]!.term !== block.term) yield joinedList(open.splice(0));
      open.push(block);
    } else {
      if (open.length > 0) yield joinedList(open.splice(0));
      yield block;
    }
  }
  if (open.length > 0) yield joinedList(open);
}

function joinedList(blocks: readonly Block[]): Block {
  const texts: string[] = [];
  const lines: LineMark[] = [];
  let length = 0;
  for (const block of blocks) {
    for (const [at, line] of block.lines ?? []) lines.push([length + at, line]);
    texts.push(block.text);
    length += block.text.length + 1;
  }
  return { ...blocks[0]!, text: texts.join("\n"), lines };
}

/** The lines of a text, without their line breaks. */
export function* numberedLines(text: string): Generator<{ line: string; number: number }> {
  let number = 1;
  for (let start = 0; start <= text.length; number++) {
    const end = text.indexOf("\n", start);
    yield { line: text.slice(start, end === -1 ? text.length : end), number };
    if (end === -1) return;
    start = end + 1;
  }
}
