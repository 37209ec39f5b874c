/** HTML elements that readers of other formats make, so that all formats have the same blocks. */

import type { Budget } from "../file/budget.ts";
import type { Place } from "./document.ts";
import { HtmlBlocks } from "./html-blocks.ts";
import { type Element, isText, type Text } from "./markup.ts";
import type { Outline } from "./outline.ts";
import { type TextRun, withScripts } from "./scripts.ts";

export type Node = Element | Text;

export const element = (
  name: string,
  children: readonly Node[],
  attributes: Readonly<Record<string, string>> = {},
  line = 0,
): Element => ({ name, attributes, children: [...children], line });

export const text = (content: string, line = 0): Text => ({ text: content, line });

/** Text with marks between its parts: a superscript, a line break. */
export class Inline {
  readonly nodes: Node[] = [];
  #script: "sup" | "sub" | "" = "";
  #text = "";

  /** Adds a text. Texts of the same script that follow each other are one. */
  add(content: string, script: "sup" | "sub" | "" = ""): void {
    if (content === "") return;
    if (script !== this.#script) this.#end();
    this.#script = script;
    this.#text += content;
  }

  node(node: Node): void {
    this.#end();
    this.nodes.push(node);
  }

  done(): readonly Node[] {
    this.#end();
    return this.nodes;
  }

  #end(): void {
    const content = text(this.#text);
    if (this.#text !== "")
      this.nodes.push(this.#script === "" ? content : element(this.#script, [content]));
    this.#text = "";
  }
}

/** Inline nodes as one line, for a title: a line break is a space, an exponent `10^6`. */
export const lineOf = (nodes: readonly Node[]): string =>
  withScripts(nodes.map(textInLine)).replace(/\s+/gu, " ");

function textInLine(node: Node): TextRun {
  if (isText(node)) return node;
  const { name, children } = node;
  if (name === "br") return { text: " " };
  return { text: lineOf(children), script: name === "sup" || name === "sub" ? name : "" };
}

/** Adds the blocks of HTML elements. */
export function addElements(
  nodes: readonly Node[],
  outline: Outline,
  budget: Budget,
  place?: Place,
): void {
  const walker = new HtmlBlocks(budget, false);
  walker.read(element("", nodes));
  for (const { level, text, details } of walker.blocks) {
    const own = place ? { ...details, place } : details;
    if (level > 0) outline.heading(level, text, own);
    else outline.text(text, own);
  }
}

/** The text of HTML elements, a line for each block: that of a cell. */
export function textOf(nodes: readonly Node[], budget: Budget): string {
  const walker = new HtmlBlocks(budget, false);
  walker.read(element("", nodes));
  return walker.blocks.map(({ text }) => text).join("\n");
}

/** An item of a list that other items may follow. */
export interface Item {
  readonly level: number;
  /** `3.2`, or `-`. */
  readonly marker: string;
  readonly children: readonly Node[];
}

/** Items as nested lists. */
export function listOf(items: readonly Item[]): Element {
  const root = element("ul", []);
  const open: Element[] = [root];
  for (const { level, marker, children } of items) {
    while (open.length > level + 1) open.pop();
    while (open.length < level + 1) {
      const inner = element("ul", []);
      open.at(-1)!.children.push(inner);
      open.push(inner);
    }
    open.at(-1)!.children.push(element("li", children, { "data-marker": marker }));
  }
  return root;
}
