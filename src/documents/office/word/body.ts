/** The paragraphs, lists and tables of a Word document, as elements of HTML. */

import { append } from "../../../math/append.ts";
import type { Budget } from "../../file/budget.ts";
import { LeftOut } from "../../file/left-out.ts";
import {
  element,
  Inline,
  type Item,
  lineOf,
  listOf,
  type Node,
  text,
} from "../../tree/html-tree.ts";
import { childrenOf, type Element, find, first, isText, textContent } from "../../tree/markup.ts";
import { formula } from "../../tree/scripts.ts";
import type { Numbering } from "./numbering.ts";
import { attributeOf, onOff, type Script, type Styles, scriptOf } from "./styles.ts";
import { symbol } from "./symbols.ts";

/** The parts of a document that its text refers to. */
export interface WordParts {
  readonly styles: Styles;
  readonly numbering: Numbering;
  readonly footnotes: Element | undefined;
  readonly endnotes: Element | undefined;
  /** The texts of diagrams, by the id of their relationship. */
  readonly diagrams: ReadonlyMap<string, Element>;
  readonly budget: Budget;
}

/** Text that may be raised by hand and be an exponent. */
const EXPONENT = /^[-−+]?[\p{L}\p{N}.,]{1,6}$/u;
/** Deleted text, codes of fields, comments. */
const LEFT_OUT = new Set([
  ...["w:del", "w:moveFrom", "w:delText", "w:instrText", "w:delInstrText", "w:pPr", "w:rPr"],
  ...["w:tblPr", "w:trPr", "w:tcPr", "w:sectPr", "w:sdtPr", "w:rt", "mc:Fallback", "w:tblGrid"],
]);
const CHARACTERS: Readonly<Record<string, string>> = {
  "w:tab": " ",
  "w:ptab": " ",
  "w:noBreakHyphen": "-",
  "w:cr": "\n",
};

export class WordBody {
  readonly nodes: Node[] = [];
  /** The text of the style "Title". */
  title: string | undefined;
  /** What the document has that is no text, and how many. */
  readonly leftOut = new LeftOut();
  readonly #parts: WordParts;
  /** Those that no reference has shown yet: a note can name itself. */
  readonly #notes: Map<string, Element>;
  #items: Item[] = [];
  /** Whether the style of the paragraph hides its runs, unless they say otherwise. */
  #areRunsHidden = false;
  /** Notes and text boxes of the paragraphs since the last heading. */
  #pending: Node[] = [];

  constructor(parts: WordParts) {
    this.#parts = parts;
    this.#notes = new Map([
      ...notesOf(parts.footnotes, "w:footnote"),
      ...notesOf(parts.endnotes, "w:endnote"),
    ]);
  }

  /** The ids of headers and footers that are not on every page of the document. */
  referencedMargins(content: Element): string[] {
    const references = [...find(content, "w:headerReference", "w:footerReference")];
    const idOf = ({ attributes }: Element): string => attributes["r:id"] ?? "";
    const onAll = ["w:headerReference", "w:footerReference"].flatMap((name) => {
      const own = references.filter(
        (one) => one.name === name && one.attributes["w:type"] === "default",
      );
      return new Set(own.map(idOf)).size === 1 ? own.map(idOf) : [];
    });
    return references.map(idOf).filter((id) => !onAll.includes(id));
  }

  add(content: Element, kind: "body" | "header" = "body"): void {
    const blocks = this.#blocks(kind === "header" ? (childrenOf(content)[0] ?? content) : content);
    append(this.nodes, blocks);
    this.#endList(this.nodes);
    this.#endNotes(this.nodes);
  }

  #blocks(container: Element): Node[] {
    const nodes: Node[] = [];
    this.#addBlocks(container, nodes);
    return nodes;
  }

  #addBlocks(container: Element, nodes: Node[]): void {
    this.#parts.budget.spend("steps", container.children.length);
    for (const child of childrenOf(container)) {
      if (child.name === "w:p") this.#paragraph(child, nodes);
      else if (child.name === "w:tbl") {
        this.#endList(nodes);
        nodes.push(this.#table(child));
      } else if (child.name === "w:altChunk") this.leftOut.add("embedded document");
      else if (child.name === "w:sdt" && (isContents(child) || isPlaceholder(child))) continue;
      else if (!LEFT_OUT.has(child.name)) this.#addBlocks(child, nodes);
    }
  }

  #paragraph(paragraph: Element, nodes: Node[]): void {
    const properties = childrenOf(paragraph, "w:pPr")[0];
    const { name, headingLevel, list, isHidden } = this.#parts.styles.of(properties);
    if (/^toc ?\d$/.test(name)) return; // the table of contents repeats the headings
    const inline = new Inline();
    const boxes: Node[] = [];
    this.#areRunsHidden = isHidden;
    this.#inline(paragraph, inline, boxes);
    const children = inline.done();
    const content = lineOf(children).trim();
    if (content !== "" && name === "title" && this.title === undefined) this.title = content;
    else if (content !== "") {
      const level = name === "title" || name === "subtitle" ? 1 : headingLevel;
      const marker = list ? this.#parts.numbering.next(list) : "";
      if (level > 0) this.#heading(level, marker, children, nodes);
      else if (list) this.#items.push({ level: list.level, marker, children });
      else {
        this.#endList(nodes);
        nodes.push(element("p", children));
      }
    }
    if (boxes.length > 0) {
      this.#endList(nodes);
      append(nodes, boxes);
    }
  }

  #heading(level: number, marker: string, children: readonly Node[], nodes: Node[]): void {
    this.#endList(nodes);
    this.#endNotes(nodes);
    const number = marker === "" || marker === "-" ? [] : [text(`${marker} `)];
    nodes.push(element(`h${level}`, [...number, ...children]));
  }

  #endList(nodes: Node[]): void {
    if (this.#items.length > 0) nodes.push(listOf(this.#items));
    this.#items = [];
  }

  #endNotes(nodes: Node[]): void {
    append(nodes, this.#pending);
    this.#pending = [];
  }

  /** Adds the text of an element, and the blocks of its text boxes. */
  #inline(container: Element, inline: Inline, boxes: Node[], script: Script = ""): void {
    this.#parts.budget.spend("steps", container.children.length);
    for (const child of container.children) {
      if (isText(child)) continue;
      const { name } = child;
      if (LEFT_OUT.has(name)) continue;
      if (name === "w:t") inline.add(textContent(child), script);
      else if (name === "w:r") {
        if (!this.#isHidden(child)) this.#inline(child, inline, boxes, this.#scriptOf(child));
      } else if (CHARACTERS[name] !== undefined) inline.add(CHARACTERS[name], script);
      else if (name === "w:br") inline.node(element("br", []));
      else if (name === "w:sym")
        inline.add(symbol(child.attributes["w:font"] ?? "", child.attributes["w:char"] ?? ""));
      else if (name === "w:ffData") inline.add(fieldValue(child));
      else if (name === "w:sdt" && isPlaceholder(child)) continue;
      else if (name === "m:oMath") inline.add(formula(child).replace(/\s+/g, " "));
      else if (name === "w:footnoteReference" || name === "w:endnoteReference") this.#note(child);
      else if (name === "w:txbxContent") this.#textBox(child, boxes);
      else if (name === "w:object" || name === "w:control") this.leftOut.add("embedded object");
      else if (/:chart$/.test(name)) this.leftOut.add("chart");
      else if (/:relIds$/.test(name)) this.#diagram(child.attributes["r:dm"] ?? "", boxes);
      else if (name === "mc:AlternateContent") this.#alternative(child, inline, boxes, script);
      else this.#inline(child, inline, boxes, script);
    }
  }

  #isHidden(run: Element): boolean {
    const [properties] = childrenOf(run, "w:rPr");
    const own = properties && onOff(properties, "w:vanish");
    const style = properties && attributeOf(properties, "w:rStyle");
    return own ?? this.#parts.styles.hides(style) ?? this.#areRunsHidden;
  }

  /** Of a run. What is raised by hand is an exponent if it is short. */
  #scriptOf(run: Element): Script {
    const [properties] = childrenOf(run, "w:rPr");
    const own = properties && scriptOf(properties);
    const isByHand = own && attributeOf(properties!, "w:vertAlign") === undefined;
    if (isByHand && !EXPONENT.test(textContent(run))) return "";
    return (
      own ?? this.#parts.styles.script(properties && attributeOf(properties, "w:rStyle")) ?? ""
    );
  }

  #diagram(id: string, boxes: Node[]): void {
    const diagram = this.#parts.diagrams.get(id);
    if (!diagram) this.leftOut.add("diagram");
    else
      for (const paragraph of find(diagram, "a:p"))
        boxes.push(element("p", [text([...find(paragraph, "a:t")].map(textContent).join(""))]));
  }

  /** The first form that a program may choose; the others say the same. */
  #alternative(child: Element, inline: Inline, boxes: Node[], script: Script): void {
    const [choice] = [...childrenOf(child, "mc:Choice"), ...childrenOf(child, "mc:Fallback")];
    if (choice) this.#inline(choice, inline, boxes, script);
  }

  #textBox(content: Element, boxes: Node[]): void {
    const [items, areRunsHidden] = [this.#items, this.#areRunsHidden];
    this.#items = [];
    this.#addBlocks(content, boxes);
    this.#endList(boxes);
    [this.#items, this.#areRunsHidden] = [items, areRunsHidden];
  }

  #note({ name, attributes }: Element): void {
    const kind = name === "w:footnoteReference" ? "w:footnote" : "w:endnote";
    const key = `${kind} ${attributes["w:id"]}`;
    const note = this.#notes.get(key);
    if (!note) return;
    this.#notes.delete(key);
    const inline = new Inline();
    for (const paragraph of find(note, "w:p")) {
      this.#inline(paragraph, inline, []);
      inline.add(" ");
    }
    this.#pending.push(element("p", inline.done()));
  }

  #table(table: Element): Element {
    const rows: Element[] = [];
    /** The cells above that cover the next row, by column. */
    const above = new Map<number, Element>();
    for (const row of find(table, "w:tr")) if (!isDeleted(row)) rows.push(this.#row(row, above));
    const isHead = ({ attributes }: Element): boolean => attributes.head !== undefined;
    const head = rows.findIndex((row) => !isHead(row));
    const count = head === -1 ? 0 : head;
    return element("table", [
      element("thead", rows.slice(0, count)),
      element("tbody", rows.slice(count)),
    ]);
  }

  #row(row: Element, above: Map<number, Element>): Element {
    const [properties] = childrenOf(row, "w:trPr");
    const before =
      Number.parseInt((properties && attributeOf(properties, "w:gridBefore")) ?? "0", 10) || 0;
    const cells: Element[] = Array.from({ length: Math.min(before, 100) }, () => element("td", []));
    let column = before;
    for (const cell of find(row, "w:tc")) {
      const [own] = childrenOf(cell, "w:tcPr");
      const span = Math.max(
        1,
        Number.parseInt((own && attributeOf(own, "w:gridSpan")) ?? "1", 10) || 1,
      );
      const [merge] = own ? childrenOf(own, "w:vMerge") : [];
      const covering = above.get(column);
      if (merge && merge.attributes["w:val"] !== "restart" && covering) extendDown(covering);
      else {
        const made = element("td", this.#cellBlocks(cell), { colspan: String(span) });
        if (merge) above.set(column, made);
        else above.delete(column);
        cells.push(made);
      }
      column += span;
    }
    const isHead = properties !== undefined && first(properties, "w:tblHeader") !== undefined;
    return element("tr", cells, isHead ? { head: "" } : {});
  }

  #cellBlocks(cell: Element): Node[] {
    const items = this.#items;
    this.#items = [];
    const nodes = this.#blocks(cell);
    this.#endList(nodes);
    this.#items = items;
    return nodes;
  }
}

/** Whether a row is deleted, as a change that is tracked. */
const isDeleted = (row: Element): boolean =>
  childrenOf(row, "w:trPr").some((properties) => childrenOf(properties, "w:del").length > 0);

function extendDown(cell: Element): void {
  const attributes = cell.attributes as Record<string, string>;
  attributes.rowspan = String(Number(attributes.rowspan ?? "1") + 1);
}

function* notesOf(root: Element | undefined, name: string): Generator<[string, Element]> {
  for (const note of root ? find(root, name) : [])
    if (note.attributes["w:type"] === undefined || note.attributes["w:type"] === "normal")
      yield [`${name} ${note.attributes["w:id"]}`, note];
}

/** A table of contents. */
const isContents = (block: Element): boolean =>
  childrenOf(block, "w:sdtPr").some(
    (properties) =>
      first(properties, "w:docPartGallery")?.attributes["w:val"] === "Table of Contents",
  );

/** A field that nobody has filled in: "Click or tap here to enter text." */
const isPlaceholder = (field: Element): boolean =>
  childrenOf(field, "w:sdtPr").some((properties) => isOn(properties, "w:showingPlcHdr"));

const isOn = (properties: Element, name: string): boolean => onOff(properties, name) ?? false;

/** What a form field of Word 97 shows: the chosen entry of a list, a box. */
function fieldValue(field: Element): string {
  const [list] = childrenOf(field, "w:ddList");
  const [box] = childrenOf(field, "w:checkBox");
  if (list) {
    const chosen = attributeOf(list, "w:result") ?? attributeOf(list, "w:default") ?? "0";
    return childrenOf(list, "w:listEntry")[Number(chosen)]?.attributes["w:val"] ?? "";
  }
  if (!box) return "";
  return (onOff(box, "w:checked") ?? isOn(box, "w:default")) ? "☒" : "☐";
}
