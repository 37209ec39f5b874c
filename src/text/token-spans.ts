/**
 * The characters that tokens come from. SentencePiece normalises a text (NFKC, white space) before
 * it cuts it, so positions in its pieces are not positions in the text.
 *
 * No piece has a space inside, so the tokens of a word depend on the word alone. Each word is
 * encoded by itself; its tokens divide the normalised characters of the word among them.
 */

import type { Span } from "./answer-span.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** A character and its combining marks, which Unicode normalisation rewrites together. */
const CLUSTER = /\P{M}\p{M}{0,256}|\p{M}{1,256}/gu;
/** As in text-parts.ts: the tokens on both sides are independent of each other. */
const WORD_START = / (?=[\p{L}\p{N}])/gu;

/**
 * The characters of `text` that each of `ids` comes from; undefined if that cannot be told. `ids`
 * are the first tokens of the text. Tokens of a word that the tokenizer rewrites in its own way all
 * get the whole word.
 */
export function tokenSpans(
  tokenizer: Tokenizer,
  text: string,
  ids: readonly number[],
): (Span | undefined)[] {
  const spans: (Span | undefined)[] = [];
  for (const word of wordsOf(text)) {
    if (spans.length >= ids.length) break;
    const own = tokenizer.encode(text.slice(word.start, word.end));
    const from = spans.length;
    const isSame = own.every((id, i) => from + i >= ids.length || ids[from + i] === id);
    if (!isSame) break; // a tie of two segmentations, which rounding decides
    spans.push(...spansInWord(tokenizer, text, word, own));
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

function spansInWord(
  tokenizer: Tokenizer,
  text: string,
  word: Span,
  ids: readonly number[],
): Span[] {
  const units = unitsOf(text, word, tokenizer.isUncased);
  const pieces = ids.map((id) => tokenizer.decode([id]).replace(/\s/g, ""));
  const isAligned = pieces.join("") === units.map(({ unit }) => unit).join("");
  const first = units[0]?.span.start ?? word.start;
  const whole = { start: first, end: units.at(-1)?.span.end ?? word.end };
  if (!isAligned) return pieces.map(() => whole);
  let at = 0;
  return pieces.map((piece) => {
    const start = units[at]?.span.start ?? whole.end;
    at += piece.length;
    return { start, end: piece === "" ? start : units[at - 1]!.span.end };
  });
}

/** The normalised code units of a word without white space, and the characters of each. */
function unitsOf(
  text: string,
  { start, end }: Span,
  isUncased: boolean,
): { unit: string; span: Span }[] {
  const units: { unit: string; span: Span }[] = [];
  for (const { 0: cluster, index } of text.slice(start, end).matchAll(CLUSTER)) {
    const span = { start: start + index, end: start + index + cluster.length };
    const normalized = isUncased
      ? cluster.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()
      : cluster.normalize("NFKC");
    for (const unit of normalized.replace(/[\s\p{Cc}]/gu, "").split("")) units.push({ unit, span });
  }
  return units;
}
