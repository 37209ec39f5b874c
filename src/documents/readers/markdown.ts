/**
 * Markdown: headings, fenced code and paragraphs. Links become their text; other marks stay.
 *
 * It reads lines instead of using a parser of CommonMark: micromark needs more than a minute for
 * 200 kB of `*a_ `, and hostile files are part of the input.
 *
 * Source: https://spec.commonmark.org/0.31.2, sections 4.2, 4.3 and 4.5. The title may be in YAML
 * front matter.
 */

import type { Document } from "../document.ts";
import { Outline } from "../outline.ts";
import type { SourceFile } from "../source-file.ts";
import { numberedLines } from "./text.ts";

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ATX_HEADING = /^ {0,3}(#{1,6})(?=\s|$)/;
const SETEXT_UNDERLINE = /^ {0,3}(=+|-+)\s*$/;
const MAX_FRONT_MATTER_LINES = 100;

export async function* readMarkdown(file: SourceFile): AsyncGenerator<Document> {
  const text = await file.text();
  const front = frontMatter(text);
  const scanner = new Scanner();
  for (const { line, number } of numberedLines(text))
    if (number > front.lines) scanner.line(line, number);
  scanner.end();
  const { title, ...metadata } = front.fields;
  yield { ...scanner.outline.document(title), metadata };
}

class Scanner {
  readonly outline = new Outline();
  #lines: string[] = [];
  #last = 0;
  /** The marks that opened the code that is being read. */
  #fence = "";

  line(line: string, number: number): void {
    const fence = FENCE.exec(line)?.[1];
    if (this.#fence !== "") {
      if (fence?.startsWith(this.#fence) && line.trim() === fence) this.#endCode();
      else this.#add(line, number);
    } else if (fence !== undefined) {
      this.#endParagraph();
      this.#fence = fence;
    } else this.#textLine(line, number);
  }

  end(): void {
    if (this.#fence !== "") this.#endCode();
    else this.#endParagraph();
  }

  #textLine(line: string, number: number): void {
    const level = ATX_HEADING.exec(line)?.[1]?.length;
    const underline = this.#lines.length === 1 ? SETEXT_UNDERLINE.exec(line)?.[1] : undefined;
    if (level !== undefined) {
      this.#endParagraph();
      const text = line.trim().replace(/^#+/, "").trim().replace(/\s#+$/, "");
      this.outline.heading(level, inlineText(text), { lines: [number, number] });
    } else if (underline !== undefined) {
      const [text] = this.#lines as [string];
      this.#lines = [];
      const place = { lines: [this.#last, number] } as const;
      this.outline.heading(underline.startsWith("=") ? 1 : 2, inlineText(text), place);
    } else if (line.trim() === "") this.#endParagraph();
    else this.#add(line, number);
  }

  #add(line: string, number: number): void {
    this.#lines.push(line);
    this.#last = number;
  }

  #endParagraph(): void {
    this.#end(inlineText);
  }

  #endCode(): void {
    this.#fence = "";
    this.#end((code) => code);
  }

  #end(convert: (text: string) => string): void {
    const text = convert(this.#lines.join("\n"));
    this.outline.text(text, { lines: [this.#last - this.#lines.length + 1, this.#last] });
    this.#lines = [];
  }
}

/** Links and images become their text. The limits keep the time linear. */
const inlineText = (markdown: string): string =>
  markdown
    .replace(/!?\[([^[\]\n]{1,300})\]\([^()\s]{0,1000}(?:\s"[^"\n]{0,300}")?\)/g, "$1")
    .replace(/<(https?:[^<>\s]{1,1000})>/g, "$1");

/** The fields of YAML front matter that are one line of text, and its number of lines. */
function frontMatter(text: string): { lines: number; fields: Record<string, string> } {
  const fields: [name: string, value: string][] = [];
  for (const { line, number } of numberedLines(text)) {
    if (number === 1 && line.trimEnd() !== "---") break;
    if (number > 1 && /^(---|\.\.\.)\s*$/.test(line))
      return { lines: number, fields: Object.fromEntries(fields) };
    const [, name, value] = /^([A-Za-z][\w-]{0,50}):\s+(\S.*)$/.exec(line) ?? [];
    if (name !== undefined) fields.push([name, unquoted(value!)]);
    if (number === MAX_FRONT_MATTER_LINES) break;
  }
  return { lines: 0, fields: {} };
}

const unquoted = (value: string): string => value.trim().replace(/^(["'])(.*)\1$/, "$2");
