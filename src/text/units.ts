/** The parts of a text: sentences, lines, words of a long sentence, characters of a word. */

import { sentences } from "./sentences.ts";

/** A part of a text: `text.slice(start, end)`, without white space around it. */
export interface Unit {
  readonly start: number;
  readonly end: number;
  readonly words: number;
}

/**
 * A word is a run of characters without a space, at most 32. In scripts without spaces it is two
 * characters: Chinese words have 1.5 to 2 on average.
 */
const SCRIPTS =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}" +
  "\\p{Script=Khmer}\\p{Script=Myanmar}";
const WORD = new RegExp(`[${SCRIPTS}]{1,2}|[^\\s${SCRIPTS}]{1,32}`, "gu");
/** Sentences are sought in parts of this length, so that a line of 60 MB needs little memory. */
const PART_LENGTH = 65_536;
/** A line of this length that does not end a sentence continues in the next line. */
const WRAPPED = /\n(?<=[^\n]{50}\n)(?=[ \t]*[\p{L}("“‘])/gu;

/** The number of words of a text. */
export function countWords(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(WORD)) count++;
  return count;
}

/** The sentences of a text, in order. They cover all characters but white space. */
export function* sentenceUnits(text: string): Generator<Unit, void> {
  for (let from = 0; from < text.length; ) {
    const to = partEnd(text, from);
    const part = text.slice(from, to).replace(WRAPPED, " ");
    for (const { start, end } of sentences(part))
      yield { start: from + start, end: from + end, words: countWords(part.slice(start, end)) };
    from = to;
  }
}

/** The lines of a text that are not blank, in order, with the white space at their beginning. */
export function* lineUnits(text: string): Generator<Unit, void> {
  for (let start = 0; start < text.length; ) {
    const next = text.indexOf("\n", start);
    const end = next === -1 ? text.length : next;
    const line = text.slice(start, end).trimEnd();
    if (line !== "") yield { start, end: start + line.length, words: countWords(line) };
    start = end + 1;
  }
}

/** The words of a unit, in order. */
export function* wordUnits(text: string, { start, end }: Unit): Generator<Unit, void> {
  for (const { 0: word, index } of text.slice(start, end).matchAll(WORD))
    yield { start: start + index, end: start + index + word.length, words: 1 };
}

/** The two halves of a word; undefined for a character. */
export function halvesOf(text: string, { start, end }: Unit): [Unit, Unit] | undefined {
  const characters = [...text.slice(start, end)];
  if (characters.length < 2) return undefined;
  const first = characters.slice(0, characters.length >>> 1).join("");
  const middle = start + first.length;
  return [
    { start, end: middle, words: 1 },
    { start: middle, end, words: 1 },
  ];
}

/** A space, or the end of the text, near `from + PART_LENGTH`. */
function partEnd(text: string, from: number): number {
  const end = from + PART_LENGTH;
  if (end >= text.length) return text.length;
  const space = /\s\S*$/.exec(text.slice(end - 1_000, end))?.index;
  if (space !== undefined) return end - 1_000 + space + 1;
  return /^[\udc00-\udfff]/.test(text.slice(end, end + 1)) ? end + 1 : end;
}
