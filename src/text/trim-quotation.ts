/** Where a quotation begins and ends: without the marks around it that it does not need. */

import type { Span } from "./span.ts";

const PAIRS: Readonly<Record<string, string>> = {
  ")": "(",
  "]": "[",
  "}": "{",
  "”": "“",
  "»": "«",
  '"': '"',
};
const CLOSING = new Set(Object.keys(PAIRS));
const OPENING = new Set(Object.values(PAIRS));
/** Of a sentence, not of an abbreviation such as `Inc.` or `a.m.` */
const END_OF_SENTENCE = /^[^.]*\p{Ll}{4}\.$/u;
const INCHES = /\d"$/;
/** In brackets, a loss: (1,234). */
const AMOUNT = /^\p{Nd}+(?:[.,]\p{Nd}+)+$/u;

/**
 * The span without spaces and marks at its ends that belong to the text around it: a comma, the
 * full stop of a sentence, a quotation mark or bracket whose partner is outside. A partner that
 * stands directly beside the span is taken in. A span that has nothing else stays as it is.
 *
 * @example
 * const text = 'Press "Start" (twice), then wait.';
 * trimQuotation(text, { start: 0, end: 7 }); // { start: 0, end: 5 }, "Press"
 * trimQuotation(text, { start: 15, end: 22 }); // { start: 14, end: 21 }, "(twice)"
 */
export function trimQuotation(text: string, span: Span): Span {
  let { start, end } = span;
  while (start < end) {
    const [first, last] = [text[start]!, text[end - 1]!];
    const [before, after] = [text[start - 1], text[end]];
    const isAlone = unpairedIn(text.slice(start, end));
    if (/[\s,;:]/.test(last)) end--;
    else if (/[\s,;:]/.test(first)) start++;
    else if (CLOSING.has(last) && isAlone(end - 1 - start)) {
      if (before === PAIRS[last] && end - start > 1) start--;
      else if (INCHES.test(text.slice(start, end))) return { start, end };
      else end--;
    } else if (OPENING.has(first) && isAlone(0)) {
      if (after !== undefined && PAIRS[after] === first) end++;
      else start++;
    } else if (OPENING.has(last) && isAlone(end - 1 - start)) end--;
    else if (CLOSING.has(first) && isAlone(0)) start++;
    else if (END_OF_SENTENCE.test(text.slice(start, end))) end--;
    else return withBrackets(text, { start, end });
  }
  return span;
}

/** Takes in the bracket directly before that is closed inside, and both around an amount. */
function withBrackets(text: string, { start, end }: Span): Span {
  const own = text.slice(start, end);
  const [before, after] = [text[start - 1], text[end]];
  if (before === "(" && after === ")" && AMOUNT.test(own))
    return { start: start - 1, end: end + 1 };
  const isAlone = unpairedIn(own);
  const isClosed = [...own].some((mark, at) => PAIRS[mark] === before && isAlone(at));
  return before !== undefined && isClosed ? { start: start - 1, end } : { start, end };
}

/** Tells of the positions of a text whether they have a mark without its partner. */
function unpairedIn(text: string): (position: number) => boolean {
  const open: number[] = [];
  const alone = new Set<number>();
  for (let at = 0; at < text.length; at++) {
    const mark = text[at]!;
    const partner = PAIRS[mark];
    const last = open.at(-1);
    if (partner !== undefined && last !== undefined && text[last] === partner) open.pop();
    else if (OPENING.has(mark)) open.push(at);
    else if (partner !== undefined) alone.add(at);
  }
  for (const at of open) alone.add(at);
  return (position) => alone.has(position);
}
