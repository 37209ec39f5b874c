/**
 * The characters that tokens come from. A text is normalised before it is cut into pieces, so
 * positions in its pieces are not positions in the text.
 *
 * No piece has a space inside, so the tokens of a word depend on the word alone. Each word is
 * encoded by itself; its tokens divide the normalised characters of the word among them.
 */

import { Recent } from "../../math/recent.ts";
import { type Rewritten, rewrite, uncasedForm, visible } from "../normal-form.ts";
import type { Span } from "../span.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** As in text-parts.ts: the tokens on both sides are independent of each other. */
const WORD_START = / (?=[\p{L}\p{N}])/gu;

/** The tokens of a word, and the characters of the word that each comes from. */
interface Word {
  readonly ids: readonly number[];
  readonly spans: readonly Span[];
}

/** About 60,000 words. The text of a passage repeats words, and passages repeat them. */
const WORD_BYTES = 2 ** 24;
/** Of a word; each of its tokens takes as much again. */
const BYTES = 90;
const words = new WeakMap<Tokenizer, Recent<Word>>();

function wordOf(tokenizer: Tokenizer, word: string): Word {
  let known = words.get(tokenizer);
  if (!known) {
    known = new Recent(WORD_BYTES, ({ ids }, { length }) => BYTES * (1 + ids.length) + 2 * length);
    words.set(tokenizer, known);
  }
  return known.of(word, () => {
    const ids = tokenizer.encode(word);
    return { ids, spans: spansInWord(tokenizer, word, ids) };
  });
}

/**
 * The characters of `text` that each of `ids` comes from; undefined if that cannot be told. `ids`
 * are the first tokens of the text. Tokens of a word that the tokenizer rewrites in its own way all
 * get the whole word. A run of unknown characters is one token.
 */
export function tokenSpans(
  tokenizer: Tokenizer,
  text: string,
  ids: readonly number[],
): (Span | undefined)[] {
  const spans: (Span | undefined)[] = [];
  for (const word of wordsOf(text)) {
    if (spans.length >= ids.length) break;
    const own = wordOf(tokenizer, text.slice(word.start, word.end));
    const from = spans.length;
    const isSame = own.ids.every((id, i) => from + i >= ids.length || ids[from + i] === id);
    if (!isSame) break; // a tie of two segmentations, which rounding decides
    for (const { start, end } of own.spans)
      spans.push({ start: word.start + start, end: word.start + end });
  }
  return ids.map((_, i) => spans[i]);
}

function* wordsOf(text: string): Generator<Span> {
  let start = 0;
  for (const { index } of text.matchAll(WORD_START)) {
    if (index > start) yield { start, end: index };
    start = index;
  }
  if (start < text.length) yield { start, end: text.length };
}

function spansInWord(tokenizer: Tokenizer, word: string, ids: readonly number[]): Span[] {
  const form = tokenizer.isUncased ? uncasedUnits : casedUnits;
  const units = rewrite(word, form);
  const whole = { start: units.spans[0]?.start ?? 0, end: units.spans.at(-1)?.end ?? word.length };
  const pieces = ids.map((id) =>
    id === tokenizer.unknownId ? undefined : tokenizer.decode([id]).replace(/\s/g, ""),
  );
  const ends = endsOf(pieces, units.text);
  return ends
    ? pieces.map((_, i) => spanOf(units, ends[i - 1] ?? 0, ends[i]!, whole))
    : pieces.map(() => whole);
}

/** The characters of the code units [from, to) of a word. */
const spanOf = ({ spans }: Rewritten, from: number, to: number, whole: Span): Span => {
  const start = spans[from]?.start ?? whole.end;
  return { start, end: to > from ? spans[to - 1]!.end : start };
};

/**
 * Where each piece ends in the normalised characters that the pieces make up; undefined if they do
 * not. An unknown piece (undefined) ends where the next known one begins.
 */
function endsOf(pieces: readonly (string | undefined)[], units: string): number[] | undefined {
  const ends: number[] = [];
  let at = 0;
  for (const [i, piece] of pieces.entries()) {
    if (piece === undefined) at = nextStart(pieces, i + 1, units, at + 1);
    else if (units.startsWith(piece, at)) at += piece.length;
    else return undefined;
    if (at === -1) return undefined;
    ends.push(at);
  }
  return at === units.length ? ends : undefined;
}

/** Where the known pieces from `first` begin, at `from` or later; -1 if they do not. */
function nextStart(
  pieces: readonly (string | undefined)[],
  first: number,
  units: string,
  from: number,
): number {
  const next = pieces.indexOf(undefined, first);
  if (first === pieces.length) return units.length;
  return units.indexOf(pieces.slice(first, next === -1 ? undefined : next).join(""), from);
}

/** The normalised code units of a character, without white space. */
const casedUnits = (cluster: string): string => unspaced(visible(cluster).normalize("NFKC"));

/** `toLowerCase` of a whole word treats a final sigma apart; the tokenizer does not. */
const uncasedUnits = (cluster: string): string =>
  unspaced(Array.from(uncasedForm(cluster), (letter) => letter.toLowerCase()).join("")).replaceAll(
    "ß",
    "ss",
  );

const unspaced = (text: string): string => text.replace(/[\s\p{Cc}]/gu, "");
