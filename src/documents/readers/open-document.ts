/**
 * OpenDocument: texts (.odt), tables (.ods) and slides (.odp).
 *
 * Source: OASIS OpenDocument 1.3, part 3.
 */

import { append } from "../../math/append.ts";
import type { Budget } from "../file/budget.ts";
import { LeftOut } from "../file/left-out.ts";
import type { SourceFile } from "../file/source-file.ts";
import { usefulTitle } from "../file/title.ts";
import { type Container, Damage, withContainer } from "../office/container.ts";
import type { Row } from "../tables/delimited.ts";
import type { Document } from "../tree/document.ts";
import { addElements, element, Inline, type Node, textOf } from "../tree/html-tree.ts";
import { childrenOf, type Element, find, first, isText, textContent } from "../tree/markup.ts";
import { Outline } from "../tree/outline.ts";
import { RecordIds } from "./record-ids.ts";
import { sheetDocuments } from "./table.ts";

/** Empty cells and rows that only fill the sheet are repeated up to a million times. */
const MAX_REPEATED = 1_000;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  yield* withContainer(file, "an OpenDocument file", (container) => openDocuments(container, file));
}

async function* openDocuments(container: Container, file: SourceFile): AsyncGenerator<Document> {
  const root = await container.xml("content.xml");
  const body = root && first(root, "office:body");
  if (!body) throw new Damage("no content.xml");
  const title = await titleOf(container);
  const styles = new ScriptStyles(root);
  const [content] = childrenOf(body);
  if (content?.name === "office:spreadsheet") {
    const ids = new RecordIds();
    for (const table of find(content, "table:table")) {
      const sheet = table.attributes["table:name"] ?? "";
      yield* sheetDocuments(rowsOf(table, styles, file.budget), file, ids, sheet);
    }
    ids.report(file.path, file.report);
    return;
  }
  const text = new OpenText(styles, file.budget);
  const outline = new Outline();
  if (content?.name === "office:presentation") addSlides(content, text, outline, file.budget);
  else if (content) addElements(text.blocks(content), outline, file.budget);
  text.leftOut.report(file);
  yield outline.document(title ?? text.title);
}

async function titleOf(container: Container): Promise<string | undefined> {
  const meta = await container.xml("meta.xml");
  const title = meta && first(meta, "dc:title");
  return title && usefulTitle(textContent(title));
}

function addSlides(content: Element, text: OpenText, outline: Outline, budget: Budget): void {
  let slide = 0;
  for (const page of find(content, "draw:page")) {
    const place = { slide: ++slide };
    const frames = [...find(page, "draw:frame", "draw:custom-shape", "presentation:notes")];
    const isTitle = ({ attributes }: Element): boolean =>
      attributes["presentation:class"] === "title";
    const title = frames
      .filter(isTitle)
      .map((frame) => textContent(frame).trim())
      .join(" ");
    text.title ??= title || undefined;
    if (title === "") outline.endSection();
    else outline.heading(1, title, { place });
    for (const frame of frames)
      if (!isTitle(frame)) addElements(text.blocks(frame), outline, budget, place);
  }
}

/** The styles of characters above and below the line. */
class ScriptStyles {
  readonly #scripts = new Map<string, "sup" | "sub">();
  readonly #names = new Map<string, string>();

  constructor(root: Element) {
    for (const style of find(root, "style:style")) {
      const name = style.attributes["style:name"] ?? "";
      const parent = style.attributes["style:parent-style-name"];
      if (parent !== undefined) this.#names.set(name, parent);
      const [properties] = childrenOf(style, "style:text-properties");
      const position = properties?.attributes["style:text-position"] ?? "";
      if (/^(?:super|[1-9])/.test(position)) this.#scripts.set(name, "sup");
      else if (/^(?:sub|-)/.test(position)) this.#scripts.set(name, "sub");
    }
  }

  script(name: string | undefined): "sup" | "sub" | "" {
    return this.#scripts.get(name ?? "") ?? "";
  }

  /** The name that the user chose a style by: `Title`. */
  named(name: string | undefined): string {
    return this.#names.get(name ?? "") ?? name ?? "";
  }
}

const LEFT_OUT = new Set([
  ...["office:annotation", "text:tracked-changes", "text:note-citation", "text:table-of-content"],
  ...["office:forms", "text:sequence-decls", "text:variable-decls", "text:ruby-text", "svg:title"],
  ...["svg:desc", "text:alphabetical-index", "draw:page-thumbnail", "presentation:settings"],
]);

/** The text of a document or of a slide, as elements of HTML. */
class OpenText {
  title: string | undefined;
  readonly leftOut = new LeftOut();
  readonly #styles: ScriptStyles;
  readonly #budget: Budget;
  /** Notes and text boxes of the paragraph that is read. */
  #boxes: Node[] = [];

  constructor(styles: ScriptStyles, budget: Budget) {
    this.#styles = styles;
    this.#budget = budget;
  }

  blocks(container: Element): Node[] {
    this.#budget.spend("steps", container.children.length);
    return childrenOf(container).flatMap((child) => this.#block(child));
  }

  #block(child: Element): Node[] {
    const { name, attributes } = child;
    if (LEFT_OUT.has(name)) return [];
    if (name === "text:p" || name === "text:h") return this.#paragraph(child);
    if (name === "text:list") return [this.#list(child)];
    if (name === "table:table") return [this.#table(child)];
    if (name === "draw:object" || name === "draw:object-ole") {
      this.leftOut.add("embedded object");
      return [];
    }
    return attributes["text:display"] === "none" ? [] : this.blocks(child);
  }

  #paragraph(child: Element): Node[] {
    const inline = new Inline();
    const boxes = this.#boxes;
    this.#boxes = [];
    this.#inline(child, inline, "");
    const [children, own] = [inline.done(), this.#boxes];
    this.#boxes = boxes;
    const style = this.#styles.named(child.attributes["text:style-name"]);
    const level = Number.parseInt(child.attributes["text:outline-level"] ?? "1", 10) || 1;
    if (style === "Title" && this.title === undefined) {
      this.title = children.map(textContent).join("").trim() || undefined;
      return own;
    }
    const isTop = style === "Title" || style === "Subtitle";
    const tag = child.name === "text:h" || isTop ? `h${isTop ? 1 : Math.min(6, level)}` : "p";
    return [element(tag, children), ...own];
  }

  #inline(container: Element, inline: Inline, script: "sup" | "sub" | ""): void {
    this.#budget.spend("steps", container.children.length);
    for (const child of container.children) {
      if (isText(child)) {
        inline.add(child.text, script);
        continue;
      }
      const { name, attributes } = child;
      if (LEFT_OUT.has(name)) continue;
      if (name === "text:s" || name === "text:tab") inline.add(" ");
      else if (name === "text:line-break") inline.node(element("br", []));
      else if (name === "text:note")
        for (const body of childrenOf(child, "text:note-body"))
          append(this.#boxes, this.blocks(body));
      else if (name === "draw:frame" || name === "draw:custom-shape")
        append(this.#boxes, this.blocks(child));
      else
        this.#inline(child, inline, this.#styles.script(attributes["text:style-name"]) || script);
    }
  }

  #list(list: Element): Element {
    const items = childrenOf(list).map((item) => element("li", this.blocks(item)));
    return element("ul", items);
  }

  #table(table: Element): Element {
    const head = childrenOf(table, "table:table-header-rows");
    const rows = [...find(table, "table:table-row")].map((row) => {
      const cells = childrenOf(row, "table:table-cell").map((cell) =>
        element("td", this.blocks(cell), {
          colspan: cell.attributes["table:number-columns-spanned"] ?? "1",
          rowspan: cell.attributes["table:number-rows-spanned"] ?? "1",
        }),
      );
      return element("tr", cells);
    });
    const count = head.reduce((sum, one) => sum + childrenOf(one, "table:table-row").length, 0);
    return element("table", [
      element("thead", rows.slice(0, count)),
      element("tbody", rows.slice(count)),
    ]);
  }
}

/** The rows of a sheet with text. Covered cells have the text of the cell that covers them. */
function rowsOf(table: Element, styles: ScriptStyles, budget: Budget): Row[] {
  const rows: Row[] = [];
  let line = 0;
  const text = new OpenText(styles, budget);
  for (const row of find(table, "table:table-row")) {
    const cells: string[] = [];
    const values: (string | undefined)[] = [];
    for (const cell of childrenOf(row)) {
      if (!/^table:(?:covered-)?table-cell$/.test(cell.name)) continue;
      const content = cell.name === "table:table-cell" ? cellText(cell, text, budget) : "";
      const value = content === "" ? undefined : numberOf(cell);
      const repeated = timesOf(cell, "table:number-columns-repeated");
      const count = content === "" ? Math.min(repeated, MAX_REPEATED) : repeated;
      budget.spend("cells", count);
      budget.spend("characters", count * content.length);
      for (let i = 0; i < count; i++) {
        cells.push(content);
        values.push(value);
      }
    }
    while (cells.at(-1) === "") cells.pop();
    const repeated = timesOf(row, "table:number-rows-repeated");
    if (cells.length > 0) budget.spend("cells", repeated * cells.length);
    for (let i = 0; cells.length > 0 && i < repeated; i++)
      rows.push({ cells, values, lines: [line + i + 1, line + i + 1] });
    line += repeated;
  }
  return rows;
}

const timesOf = ({ attributes }: Element, name: string): number =>
  Math.max(1, Number.parseInt(attributes[name] ?? "1", 10) || 1);

/** What a person sees in a cell; dates as `2024-05-01`. */
function cellText(cell: Element, text: OpenText, budget: Budget): string {
  const { attributes } = cell;
  const type = attributes["office:value-type"];
  if (type === "date") return attributes["office:date-value"] ?? "";
  if (type === "boolean") return attributes["office:boolean-value"] ?? "";
  return textOf(text.blocks(cell), budget) || (numberOf(cell) ?? "");
}

const NUMBERS = new Set(["float", "percentage", "currency"]);

const numberOf = ({ attributes }: Element): string | undefined =>
  NUMBERS.has(attributes["office:value-type"] ?? "") ? attributes["office:value"] : undefined;
