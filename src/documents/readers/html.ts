/**
 * HTML: the text that a browser shows, under its headings. Scripts, styles, forms, navigation and
 * hidden elements are left out. If the page has a `main` element, only that is read.
 *
 * The parser reports tags one by one and builds no tree, so hostile nesting needs no memory.
 *
 * Source: HTML Standard, 15.3 (elements that are blocks or not rendered).
 */

import { Parser } from "htmlparser2";
import { InputError } from "../../io/errors.ts";
import type { Document } from "../document.ts";
import { Outline } from "../outline.ts";
import type { SourceFile } from "../source-file.ts";

/** Pages have less than 100. */
const MAX_DEPTH = 1_000;

const LEFT_OUT = elements(
  "script style noscript template svg math canvas iframe object embed audio video nav",
  "button select option textarea input dialog head title",
);
const BLOCKS = elements(
  "address article aside blockquote body caption center dd details div dl dt fieldset figcaption",
  "figure footer form header hgroup hr html li main menu ol p pre search section summary table",
  "tbody td tfoot th thead tr ul h1 h2 h3 h4 h5 h6",
);
/** Elements whose lines are one block: rows of a table, items of a list. */
const GROUPS = elements("table ul ol dl");
const HIDDEN_STYLE = /display\s*:\s*none|visibility\s*:\s*hidden/i;

export async function* readHtml(file: SourceFile): AsyncGenerator<Document> {
  yield htmlDocument(await file.text(), file.path);
}

/** @param where names the file in errors. @throws {InputError} for more than 1,000 levels */
export function htmlDocument(html: string, where: string): Document {
  const main = /<main[\s>]/i.test(html) && scan(html, where, "main");
  const scanned = main && !main.isEmpty ? main : scan(html, where);
  return scanned.outline.document(scanned.title);
}

function scan(html: string, where: string, only?: string): Page {
  const page = new Page(where, only);
  const lineAt = lineCounter(html);
  const parser = new Parser({
    onopentag: (name, attributes) => page.open(name, attributes, lineAt(parser.startIndex)),
    onclosetag: (name) => page.close(name, lineAt(parser.startIndex)),
    ontext: (text) => page.text(text, lineAt(parser.startIndex)),
  });
  parser.end(html);
  page.end();
  return page;
}

class Page {
  readonly outline = new Outline();
  title: string | undefined;
  isEmpty = true;
  readonly #where: string;
  readonly #only: string | undefined;
  #depth = 0;
  /** The depth of the outermost element that is left out, of `only`, and of the list or table. */
  #leftOutAt = 0;
  #onlyAt = 0;
  #groupAt = 0;
  #preformatted = 0;
  #isTitle = false;
  #text = "";
  /** The lines of the text; 0 for no text. */
  #first = 0;
  #last = 0;

  constructor(where: string, only: string | undefined) {
    this.#where = where;
    this.#only = only;
  }

  open(name: string, attributes: Readonly<Record<string, string>>, line: number): void {
    if (++this.#depth > MAX_DEPTH) throw tooDeep(this.#where);
    if (name === this.#only && this.#onlyAt === 0) this.#onlyAt = this.#depth;
    if (name === "title" && this.title === undefined) this.#isTitle = true;
    if (this.#leftOutAt > 0) return;
    if (LEFT_OUT.has(name) || isHidden(attributes)) {
      this.#leftOutAt = this.#depth;
      return;
    }
    if (name === "br") this.#append("\n", line);
    if (name === "pre") this.#preformatted++;
    if (!BLOCKS.has(name)) return;
    if (this.#groupAt === 0 || headingLevel(name) > 0) this.#flush();
    else this.#append(name === "td" || name === "th" ? " | " : "\n", line);
    if (GROUPS.has(name) && this.#groupAt === 0) this.#groupAt = this.#depth;
  }

  close(name: string, line: number): void {
    if (name === "title") this.#isTitle = false;
    if (this.#leftOutAt === 0 && BLOCKS.has(name)) this.#closeBlock(name, line);
    if (this.#depth === this.#leftOutAt) this.#leftOutAt = 0;
    if (this.#depth === this.#onlyAt) {
      this.#flush();
      this.#onlyAt = -1; // the first one counts
    }
    this.#depth--;
  }

  text(text: string, line: number): void {
    if (this.#isTitle) this.title = `${this.title ?? ""}${text}`.slice(0, 1_000);
    if (this.#leftOutAt > 0) return;
    this.#append(this.#preformatted > 0 ? text : text.replace(/\s+/g, " "), line);
  }

  end(): void {
    this.#flush();
  }

  #closeBlock(name: string, line: number): void {
    if (name === "pre") this.#preformatted = Math.max(0, this.#preformatted - 1);
    if (this.#depth === this.#groupAt) this.#groupAt = 0;
    const level = headingLevel(name);
    if (level > 0) this.#flush(level);
    else if (this.#groupAt === 0) this.#flush();
    else if (name !== "td" && name !== "th") this.#append("\n", line);
  }

  #append(text: string, line: number): void {
    if (this.#only !== undefined && this.#onlyAt <= 0) return;
    const isBlank = text.trim() === "";
    if (isBlank && this.#first === 0) return;
    if (this.#first === 0) this.#first = line;
    if (!isBlank) this.#last = line;
    this.#text += text;
  }

  #flush(heading = 0): void {
    const text = tidy(this.#text);
    const place = { lines: [this.#first, this.#last] } as const;
    this.#text = "";
    this.#first = 0;
    if (text === "") return;
    this.isEmpty = false;
    if (heading > 0) this.outline.heading(heading, text, place);
    else this.outline.text(text, place);
  }
}

/** Removes the white space and the cell separators around lines, and empty lines. */
const tidy = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.replace(/^[ \t]*(?:\| )+|[ \t]+$/g, ""))
    .filter((line) => line.trim() !== "")
    .join("\n")
    .trim();

const headingLevel = (name: string): number => Number(/^h([1-6])$/.exec(name)?.[1] ?? 0);

const isHidden = ({ hidden, style = "" }: Readonly<Record<string, string>>): boolean =>
  hidden !== undefined || HIDDEN_STYLE.test(style);

/** The line of a position. Positions are asked for in ascending order. */
function lineCounter(text: string): (position: number) => number {
  let line = 1;
  let next = text.indexOf("\n");
  return (position) => {
    for (; next !== -1 && next < position; next = text.indexOf("\n", next + 1)) line++;
    return line;
  };
}

function elements(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(" ")));
}

const tooDeep = (where: string): InputError =>
  new InputError({
    where,
    expected: `at most ${MAX_DEPTH} levels of elements`,
    got: "more",
    remedy: "check the file, or ignore it",
  });
