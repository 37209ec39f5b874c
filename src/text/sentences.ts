/**
 * Splits a text into sentences by rule, with exact offsets.
 *
 * A boundary is a terminator with its closing quotes and brackets, then white space. It is none if
 * the word before it is an abbreviation, or if the text after it cannot begin a sentence. The text
 * after it also decides whether an abbreviation or a line break ends the sentence.
 *
 * Source: Kiss and Strunk 2006, "Unsupervised Multilingual Sentence Boundary Detection", section
 * 4.2.
 */

/** A part of a text: `text.slice(start, end)`, in UTF-16 code units. */
export interface Extent {
  /** The first character. */
  readonly start: number;
  /** The character after the last. */
  readonly end: number;
}

/** Abbreviations before a name: they never end a sentence. */
const BEFORE_NAMES = words(
  "mr mrs ms mx messrs mme mlle dr prof rev fr hon gen maj col lt capt cpt cdr cmdr adm sgt cpl pvt sen rep gov pres",
  "supt insp st ste mt ft e.g i.e viz vs v cf",
);

/** Abbreviations before a number; some are also ordinary words. */
const BEFORE_NUMBERS = words(
  "no nos vol vols fig figs eq eqs ref refs sec art pp p ch ca c b d fl r",
);

/** Abbreviations that end a sentence if a frequent first word follows. */
const MAYBE_LAST = words(
  "jr sr inc ltd co corp bros etc al ed eds est dept univ assn ave blvd rd hwy approx a.m p.m u.s u.k u.n u.s.a d.c",
  "ph.d m.d b.a m.a b.c a.d b.c.e c.e jan feb mar apr jun jul aug sep sept oct nov dec",
);

/** Frequent first words of sentences, which are rarely capitalised elsewhere. */
const OPENERS = words(
  "the a an this that these those there here it its he she they we you i his her their our my your who what which",
  "when where why how if as at in on by for from with after before since during until while although though",
  "because both each all some many most several no not one two another other such however but and or so yet then",
  "also once under upon over following according despite",
);

const TERMINATOR =
  /(?<![.!?…؟।])(?:\.(?: \.){2,3}|[.!?…؟।]+)["'”’»)\]]*(?=\s|$)|[。！？｡]+[”’」』）]*|\n/gu;

/** The sentences in order, without the white space around them. They cover all other characters. */
export function sentences(text: string): Extent[] {
  const found: Extent[] = [];
  const width = wrapWidth(text);
  let start = 0;
  const close = (end: number) => {
    const piece = text.slice(start, end);
    const trimmed = piece.trim();
    const from = start + piece.length - piece.trimStart().length;
    if (trimmed !== "") found.push({ start: from, end: from + trimmed.length });
    start = end;
  };
  for (const match of text.matchAll(TERMINATOR)) {
    const end = match.index + match[0].length;
    const ends =
      match[0] === "\n"
        ? lineBreakEnds(text, match.index, width)
        : terminatorEnds(text, start, match.index, end);
    if (ends) close(end);
  }
  close(text.length);
  return found;
}

/**
 * A blank line always ends a sentence. Another line break does so unless a lower-case letter
 * follows, or the line is full: the next word would not have fitted.
 */
function lineBreakEnds(text: string, at: number, width: number | undefined): boolean {
  const next = text.slice(at + 1, at + 1 + MAX_WRAP);
  if (/^[^\S\n]*[\p{Ll},;]/u.test(next)) return false;
  if (width === undefined) return true;
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return !isFull(line, next, width);
}

/** Columns of hard-wrapped text. Lines of another width are paragraphs, or items of a list. */
const MIN_WRAP = 40;
const MAX_WRAP = 200;
/** The share of the lines with another below them that are full in hard-wrapped text. */
const FULL_SHARE = 0.75;
const ITEM = /^\s*(?:[-*•–]|\(?(?:\d{1,2}|\p{L})[.)])\s/u;

/** The width of a hard-wrapped text; undefined for any other. */
function wrapWidth(text: string): number | undefined {
  const lines = text.split("\n");
  const width = lines.reduce((most, line) => Math.max(most, line.trimEnd().length), 0);
  if (width < MIN_WRAP || width > MAX_WRAP) return undefined;
  const pairs = lines.flatMap((line, i) => {
    const next = lines[i + 1] ?? "";
    return line.trim() === "" || next.trim() === "" ? [] : [isFull(line, next, width)];
  });
  const full = pairs.filter(Boolean).length;
  return full > 0 && full >= FULL_SHARE * pairs.length ? width : undefined;
}

/** Whether the first word of the next line would not have fitted. An item begins a line. */
function isFull(line: string, next: string, width: number): boolean {
  const word = /^[^\S\n]*(\S+)/u.exec(next)?.[1] ?? "";
  return word !== "" && !ITEM.test(next) && line.trimEnd().length + 1 + word.length > width;
}

function terminatorEnds(text: string, start: number, at: number, end: number): boolean {
  const after = text.slice(end, end + 40);
  if (/^\s+[[(]?[\p{Ll},;:&=<>]/u.test(after)) return false;
  if (text[at] !== "." || text[at + 1] === ".") return true;
  const before = text.slice(Math.max(start, at - 40), at);
  if (insideBrackets(text, start, at, end)) return false;
  const word = /[^\s("“‘[/–—-]*$/u.exec(before)![0];
  const key = word.toLowerCase();
  if (at - start < 8 && isListNumber(text.slice(start, at))) return false;
  if (BEFORE_NAMES.has(key)) return end > at + 1;
  if (BEFORE_NUMBERS.has(key) && /^\s+[\d(#]/.test(after)) return false;
  const maybe = MAYBE_LAST.has(key) || /^(?:\p{L}\.)*\p{Lu}$/u.test(word);
  return !maybe || opensSentence(after);
}

/** "1." or "b." at the beginning numbers the sentence after it. */
function isListNumber(sentence: string): boolean {
  return /^\s*(?:\d{1,2}|[a-z]|[ivx]+)$/u.test(sentence);
}

/** "(dir. John Doe. Second cut)": whether an open bracket is closed later on the same line. */
function insideBrackets(text: string, start: number, at: number, end: number): boolean {
  const before = text.slice(Math.max(start, at - 300), at);
  if (before.lastIndexOf("(") <= before.lastIndexOf(")")) return false;
  const rest = /^[^()\n]{0,200}[()\n]?/u.exec(text.slice(end))![0];
  return rest.endsWith(")") && text[end - 1] !== ")";
}

function opensSentence(after: string): boolean {
  const next = /^\s+["'“‘«([]*(?<word>[\p{L}\p{N}'’]*)(?<initial>\.\s)?/u.exec(after)?.groups;
  return (
    next === undefined || (OPENERS.has(next.word!.toLowerCase()) && next.initial === undefined)
  );
}

function words(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(" ")));
}
