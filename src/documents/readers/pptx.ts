/**
 * PowerPoint presentations (.pptx). Each slide is a section: its title is a heading.
 *
 * Source: ECMA-376, part 1, 19 (PresentationML) and 21.1 (DrawingML, text).
 */

import { append } from "../../math/append.ts";
import type { Budget } from "../file/budget.ts";
import { LeftOut } from "../file/left-out.ts";
import type { SourceFile } from "../file/source-file.ts";
import { type Container, withContainer } from "../office/container.ts";
import {
  isTrue,
  mainPart,
  partsOf,
  type Relationship,
  relatedPart,
  relationshipsOf,
  titleProperty,
} from "../office/office.ts";
import type { Document, Place } from "../tree/document.ts";
import { listNumber } from "../tree/html-blocks.ts";
import {
  addElements,
  element,
  Inline,
  type Item,
  lineOf,
  listOf,
  type Node,
} from "../tree/html-tree.ts";
import { childrenOf, type Element, find, first, textContent } from "../tree/markup.ts";
import { Outline } from "../tree/outline.ts";
import { formula } from "../tree/scripts.ts";

/** Placeholders that all slides have. */
const REPEATED = /^(?:dt|ftr|hdr|sldNum)$/;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  yield* withContainer(file, "a PowerPoint presentation (.pptx)", (container) =>
    presentation(container, file),
  );
}

async function* presentation(container: Container, file: SourceFile): AsyncGenerator<Document> {
  const main = await mainPart(container);
  const root = await container.xml(main);
  const relationships = await relationshipsOf(container, main);
  const outline = new Outline();
  const leftOut = new LeftOut();
  let number = 0;
  let firstTitle: string | undefined;
  for (const { attributes } of root ? find(root, "p:sldId") : []) {
    number++;
    const part = relationships.find(({ id }) => id === attributes["r:id"])?.target;
    const slide = part === undefined ? undefined : await container.xml(part);
    if (!slide) continue;
    const own = await relationshipsOf(container, part!);
    const diagrams = await partsOf(container, own, "diagramData");
    const parts = { container, own, diagrams, leftOut };
    const nodes = await slideNodes(slide, parts);
    firstTitle ??= nodes.title || undefined;
    addSlide(nodes, outline, file.budget, { slide: number });
    await file.budget.pause();
  }
  leftOut.report(file);
  yield outline.document((await titleProperty(container)) ?? firstTitle ?? "");
}

interface SlideNodes {
  readonly title: string;
  readonly nodes: readonly Node[];
}

function addSlide(
  { title, nodes }: SlideNodes,
  outline: Outline,
  budget: Budget,
  place: Place,
): void {
  if (title !== "") outline.heading(1, title, { place });
  else outline.endSection();
  addElements(nodes, outline, budget, place);
}

interface SlideParts {
  readonly container: Container;
  readonly own: readonly Relationship[];
  /** The texts of its diagrams, by the id of their relationship. */
  readonly diagrams: ReadonlyMap<string, Element>;
  readonly leftOut: LeftOut;
}

async function slideNodes(slide: Element, parts: SlideParts): Promise<SlideNodes> {
  const titles: string[] = [];
  const nodes: Node[] = [];
  for (const shape of shapesOf(slide))
    if (shape.name === "p:sp") {
      const type = placeholderOf(shape);
      if (type !== undefined && REPEATED.test(type)) continue;
      const isTitle = type === "title" || type === "ctrTitle";
      if (isTitle) append(titles, paragraphTexts(shape));
      else append(nodes, paragraphNodes(shape, type === "" || type === "body" || type === "obj"));
    } else append(nodes, frameNodes(shape, parts));
  const page = await relatedPart(parts.container, parts.own, "notesSlide");
  for (const shape of page ? find(page, "p:sp") : [])
    if (placeholderOf(shape) === "body") append(nodes, paragraphNodes(shape, false));
  return { title: titles.join(" ").trim(), nodes };
}

/** Shapes and frames. Of a shape in several forms, the first one: the others say the same. */
function* shapesOf(container: Element): Generator<Element> {
  for (const shape of find(container, "p:sp", "p:graphicFrame", "mc:AlternateContent")) {
    if (shape.name !== "mc:AlternateContent") yield shape;
    else yield* shapesOf(first(shape, "mc:Choice", "mc:Fallback") ?? shape);
  }
}

/** The type of a placeholder: empty for content, undefined for a shape that is none. */
function placeholderOf(shape: Element): string | undefined {
  const [properties] = childrenOf(shape, "p:nvSpPr");
  const placeholder = properties && first(properties, "p:ph");
  return placeholder && (placeholder.attributes.type ?? "");
}

function frameNodes(frame: Element, { diagrams, leftOut }: SlideParts): Node[] {
  const table = first(frame, "a:tbl");
  if (table) return [tableNode(table)];
  const data = first(frame, "a:graphicData");
  const uri = data?.attributes.uri ?? "";
  const kind = uri.slice(uri.lastIndexOf("/") + 1);
  const [references] = data ? childrenOf(data) : [];
  const diagram = diagrams.get(references?.attributes["r:dm"] ?? "");
  if (kind === "diagram" && diagram)
    return [...find(diagram, "a:p")].map((one) => element("p", inlineOf(one)));
  leftOut.add(kind === "chart" || kind === "diagram" ? kind : "embedded object");
  return [];
}

function tableNode(table: Element): Element {
  const rows = childrenOf(table, "a:tr").map((row) => {
    const cells = childrenOf(row, "a:tc").filter(
      ({ attributes }) => !isTrue(attributes.hMerge) && !isTrue(attributes.vMerge),
    );
    const made = cells.map((cell) =>
      element("td", paragraphNodes(cell, false), {
        colspan: cell.attributes.gridSpan ?? "1",
        rowspan: cell.attributes.rowSpan ?? "1",
      }),
    );
    return element("tr", made);
  });
  const hasHead = isTrue(childrenOf(table, "a:tblPr")[0]?.attributes.firstRow);
  return hasHead
    ? element("table", [element("thead", rows.slice(0, 1)), element("tbody", rows.slice(1))])
    : element("table", rows);
}

const paragraphTexts = (shape: Element): string[] =>
  [...find(shape, "a:p")].map((paragraph) => lineOf(inlineOf(paragraph)));

/** The numbers of the paragraphs of a shape. Source: ECMA-376, part 1, 20.1.10.61, 21.1.2.4.1. */
class ListNumbers {
  readonly #counts: ({ readonly kind: string; number: number } | undefined)[] = [];

  /** `2.`, `(b)`, `iv)`; empty for a paragraph without a number. */
  next(level: number, scheme: Element | undefined): string {
    this.#counts.length = Math.min(this.#counts.length, level + 1); // levels below start again
    const { type = "arabicPeriod", startAt = "1" } = scheme?.attributes ?? {};
    const kind = `${type} ${startAt}`;
    const before = this.#counts[level];
    const number = before?.kind === kind ? before.number + 1 : Number.parseInt(startAt, 10) || 1;
    this.#counts[level] = scheme && { kind, number };
    if (!scheme) return "";
    const first = SCHEMES.find(([name]) => type.startsWith(name))?.[1];
    const shown = listNumber(number, first);
    if (type.endsWith("ParenBoth")) return `(${shown})`;
    if (type.endsWith("ParenR")) return `${shown})`;
    return type.endsWith("Plain") ? shown : `${shown}.`;
  }
}

/** The beginnings of the names of schemes, and the first number of each. */
const SCHEMES = [
  ["alphaLc", "a"],
  ["alphaUc", "A"],
  ["romanLc", "i"],
  ["romanUc", "I"],
] as const;

/** @param areItems whether paragraphs have bullets, unless they say otherwise */
function paragraphNodes(shape: Element, areItems: boolean): Node[] {
  const nodes: Node[] = [];
  let items: Item[] = [];
  const endList = (): void => {
    if (items.length > 0) nodes.push(listOf(items));
    items = [];
  };
  const paragraphs = [...find(shape, "a:p")];
  const filled = paragraphs.filter((paragraph) => first(paragraph, "a:t", "m:t") !== undefined);
  const numbers = new ListNumbers();
  for (const paragraph of filled) {
    const [properties] = childrenOf(paragraph, "a:pPr");
    const level = Math.min(8, Number.parseInt(properties?.attributes.lvl ?? "0", 10) || 0);
    const has = (name: string): boolean =>
      properties !== undefined && childrenOf(properties, name).length > 0;
    const number = numbers.next(level, properties && childrenOf(properties, "a:buAutoNum")[0]);
    const isItem = has("a:buChar") || number !== "" || (areItems && !has("a:buNone"));
    const children = inlineOf(paragraph);
    if (isItem && filled.length > 1) items.push({ level, marker: number || "-", children });
    else {
      endList();
      nodes.push(element("p", children));
    }
  }
  endList();
  return nodes;
}

function inlineOf(paragraph: Element): readonly Node[] {
  const inline = new Inline();
  const collect = (container: Element): void => {
    for (const child of childrenOf(container)) {
      const { name } = child;
      if (name === "a:r") {
        const baseline = Number(childrenOf(child, "a:rPr")[0]?.attributes.baseline ?? "0");
        const script = baseline > 0 ? "sup" : baseline < 0 ? "sub" : "";
        inline.add(childrenOf(child, "a:t").map(textContent).join(""), script);
      } else if (name === "a:br") inline.node(element("br", []));
      else if (name === "a:fld") inline.add(childrenOf(child, "a:t").map(textContent).join(""));
      else if (name === "m:oMath") inline.add(formula(child).replace(/\s+/g, " "));
      else if (name !== "a:pPr" && name !== "a:endParaRPr" && name !== "mc:Fallback")
        collect(child);
    }
  };
  collect(paragraph);
  return inline.done();
}
