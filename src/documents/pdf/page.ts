/** The lines of a page of PDF, from the texts that pdf.js finds on it. */

import { superscript } from "../tree/scripts.ts";

/** A text on the page, as pdf.js gives it. Lengths are in points, heights are those of the font. */
interface TextItem {
  readonly str: string;
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
  readonly hasEOL: boolean;
}

export interface Line {
  text: string;
  /** Of its largest text, and of its smallest one. */
  height: number;
  least: number;
  /** The height of its first text above the origin of the page, along the direction of reading. */
  readonly y: number;
  /** Whether a gap before it ends a paragraph. */
  readonly isFirst: boolean;
  /** Where the texts between tabs begin and end, along the direction of reading. */
  readonly cells: [start: number, end: number][];
}

export interface PageText {
  readonly lines: readonly Line[];
  /** Characters that are left out because their font does not say what they are. */
  readonly lost: number;
  /** Whether the page is wider than high. */
  readonly isSlide: boolean;
}

/** Columns of a table are further apart than words, in heights of the font. */
const COLUMN_GAP = 0.9;
/** The mark of an item stands as far from its text as a column. */
const ITEM_MARK = /^(?:[•·▪◦‣–*-]|\(?(?:\d{1,3}|[a-z])[.)])$/i;
/** A larger distance between lines ends a paragraph. */
const PARAGRAPH_GAP = 1.7;
/** Superscripts are smaller and higher than the text before them, in heights of that text. */
const [SCRIPT_HEIGHT, SCRIPT_RISE] = [0.87, 0.2];
/** A raised number behind the end of a clause refers to a note. */
const CLAUSE_END = /[.,;:!?"”]$/;
const RAISED = /^[-−+]?[\p{L}\p{N}.,]{1,6}$/u;
/** Texts that are drawn twice, as bold or with a shadow, are closer than this. */
const DOUBLE_GAP = 0.2; // heights of the font
/** Marks of lists in Wingdings and Symbol, which have no meaning in Unicode. */
const BULLETS = /[\uf0b7\uf0a7\uf0d8\uf076\uf0fc\uf02d\uf06e\uf0a8]/g;
const MEANINGLESS = /(?![\t\n\f\r])\p{Cc}|[\ufffd\p{Co}\p{Cn}]/gu;
/** A text with more of these is left out whole: its other characters are wrong as well. */
const MAX_MEANINGLESS = 0.2;

export function pageText(given: readonly unknown[], isSlide: boolean): PageText {
  const items = (given as TextItem[]).filter(({ str }) => typeof str === "string");
  const direction = mainDirection(items);
  const drawn = new DrawnTexts();
  const lines: Line[] = [];
  let [isOpen, lost] = [false, 0];
  let last: { readonly y: number; readonly height: number; readonly end: number } | undefined;
  let isSpaced = false; // whether a space stands before the next text
  for (const item of items) {
    if (directionOf(item) !== direction || drawn.has(item)) {
      if (item.hasEOL) isOpen = false;
      continue;
    }
    const known = meaningful(item.str);
    lost += known.lost;
    const { height, width } = item;
    const y = heightAlong(item, direction);
    if (!isOpen) {
      const gap = last === undefined ? 0 : last.y - y;
      const isFirst = lines.length === 0 || (height > 0 && gap > PARAGRAPH_GAP * height);
      lines.push({ text: "", height: 0, least: Infinity, y, isFirst, cells: [] });
      [isOpen, isSpaced] = [true, false];
    }
    const line = lines.at(-1)!;
    const x = acrossOf(item, direction);
    if (known.text.trim() === "") isSpaced ||= known.text !== "";
    else if (isSpaced) {
      // the width of a space is not that of the page if the page is scaled
      const isColumn = last !== undefined && x - last.end > COLUMN_GAP * last.height;
      line.text += isColumn && !ITEM_MARK.test(line.text.trim()) ? "\t" : " ";
    }
    const isRaised =
      last !== undefined &&
      height > 0 &&
      height < SCRIPT_HEIGHT * last.height &&
      y - last.y > SCRIPT_RISE * last.height &&
      RAISED.test(known.text);
    if (known.text.trim() !== "") {
      const isNote = isRaised && /^\d{1,3}$/.test(known.text) && CLAUSE_END.test(line.text);
      extend(line, x, width);
      if (!isNote)
        line.text += isRaised ? superscript(known.text, line.text.slice(-1)) : known.text;
      isSpaced = false;
    }
    if (item.str.trim() !== "" && !isRaised) {
      line.height = Math.max(line.height, height);
      line.least = Math.min(line.least, height);
      last = { y, height: height || last?.height || 0, end: x + width };
    }
    if (item.hasEOL) isOpen = false;
  }
  return { lines, lost, isSlide };
}

/** The direction of reading in degrees; of a text without a length, that of the page. */
const directionOf = ({ transform: [a = 1, b = 0] }: TextItem): number =>
  Math.round((Math.atan2(b, a) * 180) / Math.PI / 5) * 5;

/** The direction of most letters. Watermarks and marks at the margin are turned. */
function mainDirection(items: readonly TextItem[]): number {
  const letters = new Map<number, number>();
  for (const item of items) {
    const direction = directionOf(item);
    letters.set(direction, (letters.get(direction) ?? 0) + item.str.trim().length);
  }
  return [...letters].reduce((best, one) => (one[1] > best[1] ? one : best), [0, 0])[0];
}

/** The place of a text along the direction of reading. */
function acrossOf({ transform }: TextItem, direction: number): number {
  const angle = (direction * Math.PI) / 180;
  return transform[4]! * Math.cos(angle) + transform[5]! * Math.sin(angle);
}

/** Adds a text to the last cell of a line, or to a new one behind a tab. */
function extend({ text, cells }: Line, start: number, width: number): void {
  const last = cells.at(-1);
  if (!last || text.endsWith("\t")) cells.push([start, start + width]);
  else last[1] = Math.max(last[1], start + width);
}

function heightAlong({ transform }: TextItem, direction: number): number {
  const angle = (direction * Math.PI) / 180;
  return transform[5]! * Math.cos(angle) - transform[4]! * Math.sin(angle);
}

/** The texts of a page, by their places. */
class DrawnTexts {
  readonly #places = new Set<string>();

  /** Whether the same text was at this place before. */
  has({ str, height, transform }: TextItem): boolean {
    if (str.trim() === "" || height === 0) return false;
    const step = DOUBLE_GAP * height;
    const [x, y] = [Math.round(transform[4]! / step), Math.round(transform[5]! / step)];
    const near = [-1, 0, 1].flatMap((dx) => [-1, 0, 1].map((dy) => [x + dx, y + dy, str].join()));
    const isDouble = near.some((place) => this.#places.has(place));
    this.#places.add([x, y, str].join());
    return isDouble;
  }
}

function meaningful(given: string): { text: string; lost: number } {
  if (/^[ -~]*$/.test(given)) return { text: given, lost: 0 };
  const text = given.replace(BULLETS, "•").replace(/[\u2028\u2029]/g, " ");
  const bad = text.match(MEANINGLESS)?.length ?? 0;
  if (bad === 0) return { text, lost: 0 };
  if (bad > MAX_MEANINGLESS * text.length) return { text: "", lost: text.trim().length };
  return { text: text.replace(MEANINGLESS, ""), lost: bad };
}

/** The lines of the largest font, if it is clearly larger than that of the text. */
export function largestLine({ lines }: PageText): string | undefined {
  const filled = lines.filter(({ text, height }) => /\p{L}/u.test(text) && height > 0);
  const heights = filled.map(({ height }) => height).sort((a, b) => a - b);
  const [median = 0, largest = 0] = [heights[heights.length >>> 1], heights.at(-1)];
  if (filled.length < 3 || largest < 1.15 * median) return undefined;
  const start = filled.findIndex(({ height }) => height > 0.98 * largest);
  const title: string[] = [];
  for (const { text, height } of filled.slice(start, start + 3))
    if (height > 0.98 * largest) title.push(text.replaceAll("\t", " ").trim());
    else break;
  const joined = title.join(" ");
  return joined.length <= 200 ? joined : undefined;
}
