/** The paragraphs of a page of PDF, from the texts that pdf.js finds on it. */

import { tableRule } from "../../text/reading-form.ts";
import { areNames } from "../tables/table-columns.ts";
import type { Block } from "../tree/document.ts";
import { superscript } from "../tree/scripts.ts";

/** A text on the page, as pdf.js gives it. Lengths are in points, heights are those of the font. */
interface TextItem {
  readonly str: string;
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
  readonly hasEOL: boolean;
}

interface Line {
  text: string;
  /** Of its largest text. */
  height: number;
  /** Whether a gap before it ends a paragraph. */
  readonly isFirst: boolean;
}

export interface PageText {
  readonly lines: readonly Line[];
  /** Characters that are left out because their font does not say what they are. */
  readonly lost: number;
  /** Whether the page is wider than high. */
  readonly isSlide: boolean;
}

/** Columns of a table are further apart than words, in heights of the font. */
const COLUMN_GAP = 1.5;
/** A larger distance between lines ends a paragraph. */
const PARAGRAPH_GAP = 1.7;
/** Superscripts are smaller and higher than the text before them, in heights of that text. */
const [SCRIPT_HEIGHT, SCRIPT_RISE] = [0.8, 0.2];
/** Marks of lists in Wingdings and Symbol, which have no meaning in Unicode. */
const BULLETS = /[\uf0b7\uf0a7\uf0d8\uf076\uf0fc\uf02d\uf06e\uf0a8]/g;
const MEANINGLESS = /(?![\t\n\f\r])\p{Cc}|[\ufffd\p{Co}\p{Cn}]/gu;
/** A text with more of these is left out whole: its other characters are wrong as well. */
const MAX_MEANINGLESS = 0.2;

export function pageText(items: readonly unknown[], isSlide: boolean): PageText {
  const lines: Line[] = [];
  let [isOpen, lost] = [false, 0];
  let last: { readonly y: number; readonly height: number } | undefined;
  for (const item of items as TextItem[]) {
    if (typeof item.str !== "string") continue;
    const known = meaningful(item.str);
    lost += known.lost;
    const { height, width } = item;
    const y = item.transform[5]!;
    if (!isOpen) {
      const gap = last === undefined ? 0 : last.y - y;
      const isFirst = lines.length === 0 || (height > 0 && gap > PARAGRAPH_GAP * height);
      lines.push({ text: "", height: 0, isFirst });
      isOpen = true;
    }
    const line = lines.at(-1)!;
    const isColumn = item.str === " " && last !== undefined && width > COLUMN_GAP * last.height;
    const isRaised =
      last !== undefined &&
      height > 0 &&
      height < SCRIPT_HEIGHT * last.height &&
      y - last.y > SCRIPT_RISE * last.height &&
      /^\d{1,3}$/.test(known.text);
    line.text += isColumn
      ? "\t"
      : isRaised
        ? superscript(known.text, line.text.slice(-1))
        : known.text;
    if (item.str.trim() !== "" && !isRaised) {
      line.height = Math.max(line.height, height);
      last = { y, height: height || last?.height || 0 };
    }
    if (item.hasEOL) isOpen = false;
  }
  return { lines, lost, isSlide };
}

function meaningful(given: string): { text: string; lost: number } {
  if (/^[ -~]*$/.test(given)) return { text: given, lost: 0 };
  const text = given.replace(BULLETS, "•").replace(/[\u2028\u2029]/g, " ");
  const bad = text.match(MEANINGLESS)?.length ?? 0;
  if (bad === 0) return { text, lost: 0 };
  if (bad > MAX_MEANINGLESS * text.length) return { text: "", lost: text.trim().length };
  return { text: text.replace(MEANINGLESS, ""), lost: bad };
}

/** The blocks of a page. A word that is divided at the end of a line is joined. */
export function* pageBlocks({ lines, isSlide }: PageText, page: number): Generator<Block> {
  const place = { page, ...(isSlide && { isSlide }) };
  for (const paragraph of paragraphsOf(lines)) {
    const isTable =
      paragraph.length > 1 &&
      paragraph.filter((line) => line.includes("\t")).length > 0.6 * paragraph.length;
    const block = { headings: [], place };
    if (isTable) yield { ...block, kind: "table", ...tableText(paragraph.map(cellsOf)) };
    else {
      const joined = paragraph.map((line) => cellsOf(line).join(" ")).join("\n");
      yield { ...block, text: joined.replace(/(?<=\p{Ll})-\n(?=\p{Ll})/gu, "") };
    }
  }
}

const cellsOf = (line: string): string[] => line.split("\t").map((cell) => cell.trim());

/** The rows of a table. The first one can name the columns. */
function tableText(rows: readonly (readonly string[])[]): Pick<Block, "text" | "header"> {
  const lines = rows.map((cells) => cells.join(" | "));
  const [names, ...below] = rows.map((cells) => ({ cells }));
  if (!areNames(names!.cells, below)) return { text: lines.join("\n") };
  const header = `${lines[0]}\n${tableRule(names!.cells.length)}`;
  return { text: [header, ...lines.slice(1)].join("\n"), header };
}

function* paragraphsOf(lines: readonly Line[]): Generator<string[]> {
  let paragraph: string[] = [];
  for (const { text, isFirst } of lines) {
    if ((isFirst || text.trim() === "") && paragraph.length > 0) {
      yield paragraph;
      paragraph = [];
    }
    if (text.trim() !== "") paragraph.push(text.trim());
  }
  if (paragraph.length > 0) yield paragraph;
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
