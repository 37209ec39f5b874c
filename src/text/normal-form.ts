/**
 * The normal form of text: what differs only in how it is encoded or typeset becomes equal. Three
 * places use it: the tokenizer, the terms of BM25, and the search for an answer in a text.
 *
 * | in the text | in the normal form |
 * |---|---|
 * | soft hyphens, zero-width characters, variation selectors, bidi marks | nothing |
 * | composed and decomposed letters, Hangul, ligatures, full width, superscripts | NFKD |
 * | `ß`, final `ς`, the Turkish `İ` and `ı` | `ss`, `σ`, `i` |
 * | typographic apostrophes and quotation marks | `'` and `"` |
 * | an exponent or a fraction beside a digit: `10⁶`, `1½` | `10^6`, `1 1⁄2`: NFKD alone makes 106 |
 *
 * Sources: Unicode Standard Annexes #15 (normalisation) and #44 (Default_Ignorable_Code_Point).
 */

import { normalizeText } from "./normalize.ts";
import type { Span } from "./span.ts";

/** Characters that a reader of the text does not see. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu;
const CONTROL = /\p{Cc}/gu;
/** Most texts are ASCII, which has nothing to remove but control characters. */
const PLAIN = /^[\t\n\r -~]*$/;

/** Where a digit and an exponent meet. */
const EXPONENT = /(?<=\p{Nd})(?=[⁰¹²³⁴-⁹⁺⁻])/gu;
/** Numbers, and the squares that NFKD begins or ends with a digit: ㋀ (1月), ㍘ (0点), ㎡, ㏠. */
const NUMERIC =
  "[\\p{Nd}\\p{No}\u32c0-\u32cb\u3358-\u3370\u3378\u3379\u339f-\u33a6\u33a8\u33af\u33e0-\u33fe]";
/** Two of them in sequence. The second is looked at again as the first of the next pair. */
const NUMBERS = new RegExp(`(${NUMERIC})(?=(${NUMERIC}))`, "gu");
/** The digits of one number. */
const RUN = /^(?:\p{Nd}*|[⁰¹²³⁴-⁹]*|[₀-₉]*)$/u;
const OTHER_NUMBER = new RegExp(`(?!\\p{Nd})${NUMERIC}|[⁺⁻]`, "u");

/**
 * Removes invisible characters, and keeps numbers apart that normalisation would join. Control
 * characters that divide lines and pages become spaces.
 */
export function visible(text: string): string {
  if (PLAIN.test(text)) return text;
  const shown = text
    .replace(INVISIBLE, "")
    .replace(CONTROL, (control) => (/\s/.test(control) ? " " : ""));
  if (!OTHER_NUMBER.test(shown)) return shown;
  return shown
    .replace(EXPONENT, "^")
    .replace(NUMBERS, (first, _, second: string) => (isApart(first, second) ? `${first} ` : first));
}

/** Whether two numbers in sequence are two: 1½, ½¼, ₂5. Numerals that NFKD keeps are one: ፲፩. */
const isApart = (first: string, second: string): boolean =>
  !RUN.test(first + second) &&
  (isRewritten(first) || isRewritten(second) || isDigit(first) !== isDigit(second));

const isDigit = (character: string): boolean => /\p{Nd}/u.test(character);
const isRewritten = (character: string): boolean => character.normalize("NFKD") !== character;

/**
 * The accents of Latin, Greek and Cyrillic letters, the points of Hebrew and the vowel signs of
 * Arabic. In other scripts, marks are letters that a word cannot do without.
 */
const ACCENTS =
  /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]/g;

export const withoutAccents = (text: string): string => text.replace(ACCENTS, "");

const APOSTROPHES = /[\u2018-\u201b\u2032\u02b9\u02bb-\u02bd\u00b4\u0374\u1ffd\uff07]/g;
const QUOTATION_MARKS = /[\u201c-\u201f\u2033\u00ab\u00bb\uff02]/g;
const LETTERS: Readonly<Record<string, string>> = { ß: "ss", ς: "σ", ı: "i" };

/** The normal form of a text, in lower case and with its accents, in NFKD. */
export function normalForm(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  return normalizeText(
    visible(text).replace(APOSTROPHES, "'").replace(QUOTATION_MARKS, '"'),
    "NFKD",
  )
    .replace(APOSTROPHES, "'") // NFKD divides ŉ into an apostrophe and n
    .toLowerCase()
    .replace(/i\u0307/g, "i") // lower case of İ
    .replace(/[ßςı]/g, (letter) => LETTERS[letter]!);
}

/** Characters between the spaces of a text that are words of their own for BERT. */
const IDEOGRAPHS =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;

/**
 * What BERT's uncased tokenizer does before it looks for pieces, but for lower case: no marks
 * (category Mn), and ideographs apart. NFKD in place of its NFD also divides ligatures.
 *
 * Source: BasicTokenizer of https://github.com/google-research/bert, tokenization.py.
 */
export function uncasedForm(text: string): string {
  if (PLAIN.test(text)) return text;
  return normalizeText(visible(text), "NFKD")
    .replace(/\p{Mn}/gu, "")
    .replace(IDEOGRAPHS, " $& ");
}

/**
 * A character with its combining marks: the unit that Unicode normalisation rewrites independently.
 * The limit bounds the time of normalisation (see normalize.ts).
 */
const CLUSTER = /\P{M}\p{M}{0,256}|\p{M}{1,256}/gu;

/** A text that was rewritten, and the original characters of each of its code units. */
export interface Rewritten {
  readonly text: string;
  readonly spans: readonly Span[];
}

/** Rewrites a text by characters with their marks, and keeps the place of each. */
export function rewrite(text: string, form: (cluster: string) => string): Rewritten {
  let rewritten = "";
  const spans: Span[] = [];
  const gapBetween = OTHER_NUMBER.test(text) ? gapOf : noGap;
  let before = "";
  for (const { 0: cluster, index } of text.matchAll(CLUSTER)) {
    const own = form(gapBetween(before, cluster) + cluster);
    const span = { start: index, end: index + cluster.length };
    for (let unit = 0; unit < own.length; unit++) spans.push(span);
    rewritten += own;
    before = own === "" ? before : cluster;
  }
  return { text: rewritten, spans };
}

/** What `visible` writes between two characters. */
const gapOf = (before: string, after: string): string =>
  visible(before + after).slice(visible(before).length, -visible(after).length || undefined);

const noGap = (): string => "";

/** The runs of letters and digits of a text, in normal form. */
export const normalWords = (text: string): string[] =>
  normalForm(text).match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
