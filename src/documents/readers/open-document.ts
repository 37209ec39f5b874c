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
import { type Container, Damage, passwordNeeded, withContainer } from "../office/container.ts";
import { ListNumbers } from "../office/open-lists.ts";
import type { Row } from "../tables/delimited.ts";
import { filterValue } from "../tables/number-format.ts";
import type { Document } from "../tree/document.ts";
import {
  addElements,
  element,
  Inline,
  lineOf,
  type Node,
  text,
  textOf,
} from "../tree/html-tree.ts";
import { childrenOf, type Element, find, first, isText, textContent } from "../tree/markup.ts";
import { Outline } from "../tree/outline.ts";
import { formula } from "../tree/scripts.ts";
import { RecordIds } from "./record-ids.ts";
import { sheetDocuments } from "./table.ts";

/** Empty cells and rows that only fill the sheet are repeated up to a million times. */
const MAX_REPEATED = 1_000;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  yield* withContainer(file, "an OpenDocument file", (container) => openDocuments(container, file));
}

async function* openDocuments(container: Container, file: SourceFile): AsyncGenerator<Document> {
  const manifest = await container.xml("META-INF/manifest.xml");
  if (manifest && first(manifest, "manifest:encryption-data")) throw passwordNeeded();
  const root = await container.xml("content.xml");
  const body = root && first(root, "office:body");
  if (!body) throw new Damage("no content.xml");
  const title = await titleOf(container);
  const common = await container.xml("styles.xml");
  const roots = common ? [common, root] : [root];
  const styles = new TextStyles(roots);
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
  const text = new OpenText(styles, file.budget, {
    numbers: new ListNumbers(roots),
    formulas: await formulasOf(container),
  });
  const outline = new Outline();
  if (content?.name === "office:presentation") addSlides(content, text, outline, file.budget);
  else if (content) addElements(text.blocks(content), outline, file.budget);
  text.leftOut.report(file);
  yield outline.document(title ?? text.title);
}

/** The formulas of a document, which are objects of their own, by their folders. */
async function formulasOf(container: Container): Promise<Map<string, string>> {
  const formulas = new Map<string, string>();
  for (const name of container.names) {
    const [, folder] = /^(Object[^/]*|[^/]+\/Object[^/]*)\/content\.xml$/.exec(name) ?? [];
    if (folder === undefined) continue;
    const root = await container.xml(name);
    const [math] = root ? childrenOf(root, "math") : [];
    if (math) formulas.set(folder, formula(math).replace(/\s+/g, " ").trim());
  }
  return formulas;
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
    const isTitle = ({ attributes }: Element): boolean =>
      attributes["presentation:class"] === "title";
    const shapes = childrenOf(page);
    const title = shapes.filter(isTitle).map(text.line).join(" ");
    text.title ??= title || undefined;
    if (title === "") outline.endSection();
    else outline.heading(1, title, { place });
    const others = element(
      "",
      shapes.filter((shape) => !isTitle(shape)),
    );
    addElements(text.blocks(others), outline, budget, place);
  }
}

/** The styles of texts above and below the line, and of hidden ones. */
class TextStyles {
  readonly #scripts = new Map<string, "sup" | "sub">();
  readonly #hidden = new Map<string, boolean>();
  readonly #names = new Map<string, string>();

  /** @param roots of common styles, then of those of the document */
  constructor(roots: readonly Element[]) {
    const content = roots.at(-1)!;
    for (const root of roots)
      for (const style of find(root, "style:style")) {
        const name = style.attributes["style:name"] ?? "";
        const parent = style.attributes["style:parent-style-name"];
        if (parent !== undefined && root === content) this.#names.set(name, parent);
        const [properties] = childrenOf(style, "style:text-properties");
        const position = properties?.attributes["style:text-position"] ?? "";
        if (/^(?:super|[1-9])/.test(position)) this.#scripts.set(name, "sup");
        else if (/^(?:sub|-)/.test(position)) this.#scripts.set(name, "sub");
        else if (position === "" && parent !== undefined && this.#scripts.has(parent))
          this.#scripts.set(name, this.#scripts.get(parent)!);
        const display = properties?.attributes["text:display"];
        const inherited = display === undefined && parent !== undefined && this.#hidden.get(parent);
        if (display !== undefined) this.#hidden.set(name, display === "none");
        else if (inherited) this.#hidden.set(name, true);
      }
  }

  hides(name: string | undefined): boolean {
    return this.#hidden.get(name ?? "") ?? false;
  }

  script(name: string | undefined): "sup" | "sub" | "" {
    return this.#scripts.get(name ?? "") ?? "";
  }

  /** The name that the user chose a style by: `Title`. */
  named(name: string | undefined): string {
    return this.#names.get(name ?? "") ?? name ?? "";
  }
}

/** A link around a shape is none itself. */
const SHAPE = /^draw:(?!a$)/;
const LEFT_OUT = new Set([
  ...["office:annotation", "text:tracked-changes", "text:note-citation", "text:table-of-content"],
  ...["office:forms", "text:sequence-decls", "text:variable-decls", "text:ruby-text", "svg:title"],
  ...["text:hidden-text", "text:hidden-paragraph"],
  ...["svg:desc", "text:alphabetical-index", "draw:page-thumbnail", "presentation:settings"],
]);

/** What the text of a document refers to. A table has none of it. */
interface OpenParts {
  readonly numbers?: ListNumbers;
  readonly formulas?: ReadonlyMap<string, string>;
}

/** The text of a document or of a slide, as elements of HTML. */
class OpenText {
  title: string | undefined;
  readonly leftOut = new LeftOut();
  readonly #styles: TextStyles;
  readonly #budget: Budget;
  readonly #numbers: ListNumbers;
  readonly #formulas: ReadonlyMap<string, string>;
  /** Notes and text boxes of the paragraph that is read. */
  #boxes: Node[] = [];

  constructor(styles: TextStyles, budget: Budget, parts: OpenParts = {}) {
    this.#styles = styles;
    this.#budget = budget;
    this.#numbers = parts.numbers ?? new ListNumbers([]);
    this.#formulas = parts.formulas ?? new Map();
  }

  /** The text of a shape as one line. */
  readonly line = (shape: Element): string =>
    this.blocks(shape)
      .map((node) => lineOf([node]).trim())
      .join(" ");

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
      const written = this.#formula(child);
      if (written === undefined) this.leftOut.add("embedded object");
      return written === undefined ? [] : [element("p", [text(written)])];
    }
    return attributes["text:display"] === "none" ? [] : this.blocks(child);
  }

  /** The formula that an object is; undefined for another object. */
  #formula(object: Element): string | undefined {
    const [math] = childrenOf(object, "math");
    if (math) return formula(math).replace(/\s+/g, " ").trim();
    const folder = object.attributes["xlink:href"] ?? "";
    return this.#formulas.get(folder.replace(/^\.\//, "").replace(/\/$/, ""));
  }

  #paragraph(child: Element): Node[] {
    if (this.#styles.hides(child.attributes["text:style-name"])) return [];
    const inline = new Inline();
    const boxes = this.#boxes;
    this.#boxes = [];
    this.#inline(child, inline, "");
    const [children, own] = [inline.done(), this.#boxes];
    this.#boxes = boxes;
    const style = this.#styles.named(child.attributes["text:style-name"]);
    const level = Number.parseInt(child.attributes["text:outline-level"] ?? "1", 10) || 1;
    if (style === "Title" && this.title === undefined) {
      this.title = lineOf(children).trim() || undefined;
      return own;
    }
    const isTop = style === "Title" || style === "Subtitle";
    const tag = child.name === "text:h" || isTop ? `h${isTop ? 1 : Math.min(6, level)}` : "p";
    const number = child.name === "text:h" ? this.#numbers.heading(child, level) : "";
    return [element(tag, number === "" ? children : [text(`${number} `), ...children]), ...own];
  }

  #inline(container: Element, inline: Inline, script: "sup" | "sub" | ""): void {
    this.#budget.spend("steps", container.children.length);
    for (const child of container.children) {
      if (isText(child)) {
        inline.add(child.text, script);
        continue;
      }
      const { name, attributes } = child;
      if (LEFT_OUT.has(name) || this.#styles.hides(attributes["text:style-name"])) continue;
      if (name === "text:s" || name === "text:tab") inline.add(" ");
      else if (name === "text:line-break") inline.node(element("br", []));
      else if (name === "text:note")
        for (const body of childrenOf(child, "text:note-body"))
          append(this.#boxes, this.blocks(body));
      else if (SHAPE.test(name)) this.#shape(child, inline);
      else
        this.#inline(child, inline, this.#styles.script(attributes["text:style-name"]) || script);
    }
  }

  /** A formula stands in its line, other shapes below the paragraph. */
  #shape(shape: Element, inline: Inline): void {
    const object = childrenOf(shape, "draw:object")[0];
    const written = object && this.#formula(object);
    if (written === undefined) append(this.#boxes, this.blocks(shape));
    else inline.add(written);
  }

  #list(list: Element): Element {
    this.#numbers.open(list);
    const items = childrenOf(list).map((item) => {
      const marker = this.#numbers.next(item);
      return element("li", this.blocks(item), { "data-marker": marker });
    });
    this.#numbers.close();
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
function rowsOf(table: Element, styles: TextStyles, budget: Budget): Row[] {
  const rows: Row[] = [];
  let line = 0;
  const text = new OpenText(styles, budget);
  for (const row of find(table, "table:table-row")) {
    const cells: string[] = [];
    const values: (string | undefined)[] = [];
    for (const cell of childrenOf(row)) {
      if (!/^table:(?:covered-)?table-cell$/.test(cell.name)) continue;
      const content = cell.name === "table:table-cell" ? cellText(cell, text, budget) : "";
      const number = numberOf(cell);
      const value = number === undefined ? undefined : filterValue(content, Number(number));
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
