/** What the macros of a manual page make: sections of paragraphs, definitions, lists, code. */

import { element, type Node, text } from "../../tree/html-tree.ts";
import { type Element, isText, textContent } from "../../tree/markup.ts";

/** Margins inside of each other, at most. */
const MAX_LEVELS = 50;

const MAX_TERM_LENGTH = 120; // characters
const MAX_TERM_LINES = 8;

export interface Section {
  /** 0 for what stands above the first heading. */
  readonly level: number;
  readonly title: string;
  readonly line: number;
  readonly nodes: Node[];
}

/** A margin: what is added goes into the open item, else below those before. */
interface Level {
  readonly container: Node[];
  /** The definitions or the items that are open. */
  list: Element | undefined;
  /** The definition or the item that is open. */
  body: Element | undefined;
}

export class Layout {
  readonly sections: Section[] = [{ level: 0, title: "", line: 1, nodes: [] }];
  /** Whether lines are joined. Others are code. */
  isFilled = true;
  #levels: Level[] = [];
  #paragraph: Element | undefined;
  #code: string[] | undefined;
  #codeLine = 0;
  #term: Element | undefined;
  /** Whether the next text stands beside the one before, without a space. */
  #isJoined = false;

  constructor() {
    this.#begin();
  }

  /** The next headings and texts are below this one. */
  heading(level: number, title: string, line: number): void {
    this.endParagraph();
    this.sections.push({ level, title, line, nodes: [] });
    this.isFilled = true;
    this.#begin();
  }

  #begin(): void {
    this.#levels = [{ container: this.sections.at(-1)!.nodes, list: undefined, body: undefined }];
  }

  /** Adds a line of text. One that begins with a space begins a line. */
  text(content: string, line: number, isJoined = false): void {
    const isBeside = this.#isJoined || isJoined;
    this.#isJoined = false;
    if (this.#term) {
      this.#addTo(this.#term, content, line, isBeside);
      return;
    }
    if (!this.isFilled) {
      this.#code ??= [];
      if (this.#code.length === 0) this.#codeLine = line;
      if (isBeside && this.#code.length > 0) this.#code.push(this.#code.pop() + content);
      else this.#code.push(content);
      return;
    }
    if (content.trim() === "") {
      this.endParagraph();
      return;
    }
    if (/^[ \t]/.test(content)) this.break();
    this.#paragraph ??= element("p", [], {}, line);
    this.#addTo(this.#paragraph, content, line, isBeside);
  }

  #addTo(to: Element, content: string, line: number, isBeside: boolean): void {
    const isFirst = to.children.length === 0;
    to.children.push(text(isFirst || isBeside ? content : ` ${content}`, line));
  }

  /** What comes next stands beside what is there. */
  join(): void {
    this.#isJoined = true;
  }

  /** Ends the line. */
  break(): void {
    this.#isJoined = false;
    this.#paragraph?.children.push(element("br", []));
  }

  /** Ends the paragraph, inside of the definition that it is in. */
  endParagraph(): void {
    this.#isJoined = false;
    this.#term = undefined;
    const [paragraph, code] = [this.#paragraph, this.#code];
    [this.#paragraph, this.#code] = [undefined, undefined];
    if (paragraph) this.add(paragraph);
    if (code?.some((line) => line.trim() !== ""))
      this.add(element("pre", [text(code.join("\n"), this.#codeLine)], {}, this.#codeLine));
  }

  /** Ends the paragraph and the definition. */
  paragraph(): void {
    this.endParagraph();
    const level = this.#levels.at(-1)!;
    [level.list, level.body] = [undefined, undefined];
  }

  /** Adds a block to the definition, the item or the margin that is open. */
  add(node: Node): void {
    const level = this.#levels.at(-1)!;
    if (level.list?.name === "dl" && !level.body) {
      level.body = element("dd", [], {}, "line" in node ? node.line : 0);
      level.list.children.push(level.body);
    }
    (level.body?.children ?? level.container).push(node);
  }

  /** The next text is a term, up to `endTerm`; a definition follows. */
  beginTerm(line: number): void {
    this.endParagraph();
    this.#term = element("dt", [], {}, line);
    this.#open("dl").children.push(this.#term);
  }

  endTerm(): void {
    this.#term = undefined;
  }

  get isTerm(): boolean {
    return this.#term !== undefined;
  }

  /** Begins an item of a list. */
  item(marker: string, line: number): void {
    this.endParagraph();
    const item = element("li", [], { "data-marker": marker }, line);
    this.#open("ul").children.push(item);
    this.#levels.at(-1)!.body = item;
  }

  #open(name: "dl" | "ul"): Element {
    const level = this.#levels.at(-1)!;
    level.body = undefined;
    const last = level.container.at(-1);
    const isOpen = last && !isText(last) && last.name === name;
    const list = isOpen ? last : element(name, []);
    if (!isOpen) level.container.push(list);
    level.list = list;
    return list;
  }

  /**
   * Moves the margin: what follows is inside of the definition that is open. A short line above it
   * is a term, as DocBook writes them.
   */
  indent(): void {
    const term = this.#paragraph;
    const level = this.#levels.at(-1)!;
    if (term && !level.body && isTerm(term)) {
      this.#paragraph = undefined;
      this.#open("dl").children.push({ ...term, name: "dt" });
    } else this.endParagraph();
    if (level.list?.name === "dl" && !level.body) {
      level.body = element("dd", []);
      level.list.children.push(level.body);
    }
    const inner = level.body?.children ?? level.container;
    const container = this.#levels.length < MAX_LEVELS ? inner : level.container;
    this.#levels.push({ container, list: undefined, body: undefined });
  }

  /** Moves the margin back. */
  outdent(): void {
    this.endParagraph();
    if (this.#levels.length > 1) this.#levels.pop();
  }

  /** Changes whether lines are joined. */
  fill(isFilled: boolean): void {
    if (this.isFilled !== isFilled) this.endParagraph();
    this.isFilled = isFilled;
  }
}

/** A line, or several short ones, that is no sentence and announces nothing. */
function isTerm(paragraph: Element): boolean {
  if (paragraph.children.length > MAX_TERM_LINES) return false;
  const shown = textContent(paragraph).trim();
  return shown.length <= MAX_TERM_LENGTH && !/(?<!\.\.)[.:]$/.test(shown);
}
