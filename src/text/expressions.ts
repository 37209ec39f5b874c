/**
 * Expressions that a quotation must not cut: words, numbers with their groups and signs, times,
 * addresses, versions, formulas. A quotation that begins or ends inside of one says something else
 * than its text: `1,000` for `1,000,000`.
 *
 * Hyphens, apostrophes and slashes divide some words and join others: `Franco-Prussian` can be
 * quoted in part, `COVID-19` cannot; `Watt's` can be quoted without its ending, `O'Neill` cannot.
 */

import { rewrite, visible } from "./normal-form.ts";

const LETTERS = String.raw`[\p{L}\p{M}]`;
const WORD = String.raw`[\p{L}\p{M}\p{N}]`;
const SPACE = String.raw`[ \u00a0\u2009\u202f]`;

/** Each kind with an example. All are of one line, and take linear time. */
const EXPRESSIONS: readonly RegExp[] = [
  // fifty, H2O, 19th
  `${WORD}+`,
  // https://example.org/a?b=1 www.example.org mailto:a@b.org
  String.raw`(?:(?:[a-z][a-z0-9+.-]{0,31}:\/\/|www\.|mailto:)[^\s<>"]*[^\s<>".,;:!?)\]}'’”])`,
  // ann.b+c@example.org @ann
  String.raw`(?<![\w.+-])[\w.+-]*@[\w-]+(?:\.[\w-]+)*`,
  // C:\Users\ann ~/notes/a.txt /usr/local/bin
  String.raw`(?<!\S)[A-Za-z]:\\[^\s"]*[^\s".,;:!?)]`,
  String.raw`(?<![\p{L}\p{N}/~])~?(?:\/[\w.-]*\w)+\/?`,
  // 1,000,000 10.5 10:00 2024-01-05 3/4 1'000 8.8.8.8
  String.raw`(?<!\p{N})\p{N}+(?:[.,:/'’·⋅٫٬-]\p{N}+)+`,
  // 1 000 000
  String.raw`(?<!\p{N}[., ]?)\p{Nd}{1,3}(?:${SPACE}\p{Nd}{3})+(?!\p{N})`,
  // 2 1/2, 2½
  String.raw`(?<!\p{N})\p{Nd}+${SPACE}(?:\p{Nd}+[/⁄]\p{Nd}+|\p{No})`,
  // 3.5 million
  String.raw`\p{N}${SPACE}(?:hundred|thousand|million|billion|trillion|lakh|crore)\b`,
  // 10:30 a.m.
  String.raw`\p{N}${SPACE}?[ap]\.?m\b\.?`,
  // +44 20 7946 0958, (555) 010-9999, 555-010-9999, 01 23 45 67 89
  String.raw`\+\p{Nd}{1,3}(?:[ .\-/]?\(?\p{Nd}{1,5}\)?){1,6}`,
  String.raw`\(\p{Nd}{2,5}\)[ .\-/]?\p{Nd}{2,5}(?:[ .\-/]\p{Nd}{2,5})*`,
  String.raw`(?<!\p{N})\p{Nd}{2,4}(?: \p{Nd}{2,4}){3,5}(?!\p{N})`,
  // 6.02 × 10^23, 10 × 20, 5 ± 0.1
  String.raw`\p{N}${SPACE}?[×x⋅±]${SPACE}?\p{N}`,
  // $5, € 5, 5 €, US$5, -5, −5, +5, ±5, ~5, #5, №5, §5, <5, .5
  String.raw`(?:\b[A-Z]{1,3})?\p{Sc}${SPACE}?[+\-−]?\.?\p{N}`,
  String.raw`\p{N}${SPACE}?\p{Sc}`,
  String.raw`(?<![\p{L}\p{N})\]+\-−±~≈≤≥<>#№§.])[+\-−±~≈≤≥<>#№§.]+\p{N}`,
  // 6'2", 5′ 30″
  String.raw`(?<!\p{N})\p{N}+['’′]${SPACE}?\p{N}+["”″]`,
  // 50 %, 5 ‰, 40 °C, 48.85° N, 5′
  String.raw`\p{N}${SPACE}?[%‰°′″º]+(?:${SPACE}?[CFKNSEWO]\b)?`,
  // C++, C#, A+, 18+, Disney+, Canal+
  String.raw`${WORD}(?:\+{1,2}|#)(?!${WORD})`,
  // .NET #tag
  String.raw`(?<!\S)[.#]${LETTERS}`,
  // U.S. J.R.R. example.org Node.js
  String.raw`(?<!${WORD})${WORD}+(?:\.${WORD}+)+`,
  // O'Neill, rock'n'roll; not Watt's, l'eau
  String.raw`(?<!${LETTERS})(?!(?:[cdjlmnst]|qu)['’])${LETTERS}+(?:['’](?!s\b)${LETTERS}+)+`,
  // COVID-19, F-16, X-ray, e-mail, 7-B
  String.raw`(?<!${LETTERS})${LETTERS}+-\p{N}+`,
  `(?<!${WORD})${WORD}-${WORD}+`,
  `(?<!${WORD})${WORD}+-${WORD}(?!${WORD})`,
  // 550e8400-e29b-41d4, A4-12B: codes that mix letters and digits; not 19th-century
  String.raw`(?<!${WORD}-?)(?=(?:${WORD}+-)*(?:\p{L}+\p{Nd}|\p{Nd}+(?!st|nd|rd|th|s\b)\p{L}+)${WORD}*)${WORD}+(?:-${WORD}+)+`,
  // v1.2.3-beta.1+5
  String.raw`(?<!\p{N}\.?)\p{N}+(?:\.\p{N}+)+(?:[-+][\w.]*\w)+`,
  // km/h, TCP/IP
  String.raw`\p{L}{1,3}\/\p{L}{1,4}(?!${WORD})`,
  // AT&T, snake_case, E=mc^2, 2+2=4, a*b, std::vector, 10⁻³
  String.raw`(?<!${WORD})${WORD}+(?:(?:[&_=^*+×\\@#~]|::|[=<>]=|->)[+\-−⁺⁻]?\(?${WORD}+\)?)+`,
  // Ca(OH)2, f(x)
  String.raw`${WORD}\(${WORD}+\)${WORD}*`,
  // fe80::1ff:fe23:4567:890a, 00:1b:44:11:3a:b7
  `(?<!${WORD})(?:[0-9a-f]{1,4})?(?::{1,2}[0-9a-f]{1,4}){2,7}(?!${WORD})`,
].map((source) => new RegExp(source, "giu"));

/** Duran Duran, Bora Bora: a name that is a word twice. */
const DOUBLED = new RegExp(String.raw`(?<!${WORD})(\p{Lu}${LETTERS}+) \1(?!${WORD})`, "gu");

/** From 1914-1918, a year can be quoted. */
const YEARS = /^[12]\d{3}-[12]\d{3}$/;
/** Scripts that do not divide words by spaces. */
const UNDIVIDED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu;
/** The dictionaries for these scripts do not depend on the language. Loaded by the first text. */
let segmenter: Intl.Segmenter | undefined;

/** The words of a text in a script without spaces between them. */
export function segments(text: string): Iterable<{ segment: string; index: number }> {
  segmenter ??= new Intl.Segmenter("en", { granularity: "word" });
  return segmenter.segment(text);
}

/**
 * Tells at which positions of a text a quotation can begin or end: not inside an expression.
 *
 * @example
 * const canCut = cutsOf("of 1,000 men");
 * canCut(4); // false
 * canCut(8); // true
 */
export function cutsOf(text: string): (position: number) => boolean {
  const { text: seen, spans } = rewrite(text, visible);
  const inside = new Uint8Array(text.length + 1);
  const join = (from: number, to: number, value: 0 | 1) =>
    inside.fill(value, spans[from]!.start + 1, spans[to - 1]!.end);
  for (const { 0: word, index } of seen.matchAll(EXPRESSIONS[0]!))
    join(index, index + word.length, 1);
  for (const { 0: run, index } of seen.matchAll(UNDIVIDED)) divide(inside, spans, run, index);
  for (const expression of [...EXPRESSIONS.slice(1), DOUBLED])
    for (const { 0: found, index } of seen.matchAll(expression))
      if (!YEARS.test(found)) join(index, index + found.length, 1);
  return (position) => inside[position] === 0;
}

/** Undoes the joints between the words of a run without spaces. */
function divide(
  inside: Uint8Array,
  spans: readonly { readonly start: number }[],
  run: string,
  from: number,
): void {
  for (const { index } of segments(run)) inside[spans[from + index]!.start] = 0;
  const after = spans[from + run.length];
  if (after) inside[after.start] = 0;
}
