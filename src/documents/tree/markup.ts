/**
 * HTML and XML as a tree, within the budget of a file. Document types are not read, so entities
 * that a file defines expand to nothing.
 */

import { Parser } from "htmlparser2";
import type { Budget } from "../file/budget.ts";

/** Characters that are parsed before signals are handled. */
const CHUNK_LENGTH = 65_536;

export interface Element {
  /** In lower case for HTML. In XML with the usual prefix of its namespace: `w:p`. */
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: (Element | Text)[];
  /** The line of the file that it begins on. */
  readonly line: number;
}

export interface Text {
  readonly text: string;
  /** The line of the file that it begins on. */
  readonly line: number;
}

export const isText = (node: Element | Text): node is Text => "text" in node;

/** The line of a position in a source. Positions are asked for in ascending order. */
export type LineAt = (position: number) => number;

/** The tree of an HTML page. Its root has no name. */
export const parseHtml = (
  html: string,
  budget: Budget,
  lineAt: LineAt = lineCounter(html),
): Promise<Element> => parse(html, budget, lineAt, "html");

/**
 * The tree of a page that is XML: `<script/>` has no contents, names may have the prefix of XHTML.
 * One that is no well-formed XML is read as HTML, and `<a/>` is closed in it, too.
 */
export const parseXhtml = (
  xhtml: string,
  budget: Budget,
  lineAt: LineAt = lineCounter(xhtml),
): Promise<Element> => parse(xhtml, budget, lineAt, "xhtml");

/** The tree of an XML document. Its root has no name. */
export const parseXml = (xml: string, budget: Budget): Promise<Element> =>
  parse(xml, budget, () => 0, "xml");

async function parse(
  source: string,
  budget: Budget,
  lineAt: LineAt,
  language: "html" | "xhtml" | "xml",
): Promise<Element> {
  const hasPrefixes = language !== "html";
  const root: Element = { name: "", attributes: {}, children: [], line: 1 };
  const open: Element[] = [root];
  const prefixes = new Prefixes();
  const parser = new Parser(
    {
      onopentag(given, attributes) {
        budget.spend("elements");
        budget.checkLevels(open.length);
        const name = hasPrefixes ? prefixes.open(given, attributes) : given;
        const own = hasPrefixes ? prefixes.attributes(attributes) : attributes;
        const element = { name, attributes: own, children: [], line: lineAt(parser.startIndex) };
        open.at(-1)!.children.push(element);
        open.push(element);
      },
      onclosetag() {
        if (open.length > 1) open.pop();
      },
      ontext(text) {
        budget.spend("elements");
        open.at(-1)!.children.push({ text, line: lineAt(parser.startIndex) });
      },
    },
    { xmlMode: language === "xml", recognizeSelfClosing: hasPrefixes, recognizeCDATA: hasPrefixes },
  );
  for (let start = 0; start < source.length; start += CHUNK_LENGTH) {
    parser.write(source.slice(start, start + CHUNK_LENGTH));
    await budget.pause();
  }
  parser.end();
  return root;
}

/** Counts the lines of a text. Positions must ascend. */
function lineCounter(text: string): LineAt {
  let line = 1;
  let next = text.indexOf("\n");
  return (position) => {
    for (; next !== -1 && next < position; next = text.indexOf("\n", next + 1)) line++;
    return line;
  };
}

/**
 * The usual prefixes of the namespaces of office documents, by the end of their names. Files of
 * other programs have other prefixes, and ISO's "strict" files other names.
 */
const USUAL: readonly (readonly [end: string, prefix: string])[] = [
  ["/wordprocessingml/2006/main", "w"],
  ["/wordprocessingml/main", "w"],
  ["/drawingml/2006/main", "a"],
  ["/drawingml/main", "a"],
  ["/officeDocument/2006/math", "m"],
  ["/officeDocument/math", "m"],
  ["/presentationml/2006/main", "p"],
  ["/presentationml/main", "p"],
  ["/officeDocument/2006/relationships", "r"],
  ["/officeDocument/relationships", "r"],
  ["/markup-compatibility/2006", "mc"],
  ["/spreadsheetml/2006/main", ""],
  ["/spreadsheetml/main", ""],
  ["/package/2006/relationships", ""],
  ["/package/2006/content-types", ""],
  ["/2006/metadata/core-properties", "cp"],
  ["purl.org/dc/elements/1.1/", "dc"],
  ["opendocument:xmlns:text:1.0", "text"],
  ["opendocument:xmlns:table:1.0", "table"],
  ["opendocument:xmlns:office:1.0", "office"],
  ["opendocument:xmlns:drawing:1.0", "draw"],
  ["opendocument:xmlns:presentation:1.0", "presentation"],
  ["opendocument:xmlns:style:1.0", "style"],
  ["idpf.org/2007/opf", ""],
  ["opendocument:xmlns:container", ""],
  ["w3.org/1999/xlink", "xlink"],
  ["w3.org/1999/xhtml", ""],
  ["w3.org/2000/svg", ""],
  ["w3.org/1998/Math/MathML", ""],
];

/** Gives names the usual prefixes. A prefix has one meaning in a file. */
class Prefixes {
  readonly #usual = new Map<string, string>();

  open(name: string, attributes: Readonly<Record<string, string>>): string {
    for (const [key, value] of Object.entries(attributes)) {
      if (key !== "xmlns" && !key.startsWith("xmlns:")) continue;
      const usual = USUAL.find(([end]) => value.endsWith(end))?.[1];
      const given = key.slice("xmlns:".length);
      if (usual === undefined || usual === given) this.#usual.delete(given);
      else this.#usual.set(given, usual);
    }
    return this.#renamed(name);
  }

  attributes(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    if (this.#usual.size === 0) return given;
    return Object.fromEntries(
      Object.entries(given).map(([key, value]) => [
        key.includes(":") ? this.#renamed(key) : key,
        value,
      ]),
    );
  }

  #renamed(name: string): string {
    const colon = name.indexOf(":");
    const usual = this.#usual.get(name.slice(0, Math.max(0, colon)));
    if (usual === undefined) return name;
    const local = name.slice(colon + 1);
    return usual === "" ? local : `${usual}:${local}`;
  }
}

/** The elements with one of these names below an element, in order, not inside each other. */
export function* find(element: Element, ...names: readonly string[]): Generator<Element> {
  const open = childrenOf(element).reverse();
  for (let next = open.pop(); next; next = open.pop())
    if (names.includes(next.name)) yield next;
    else for (const child of childrenOf(next).reverse()) open.push(child);
}

export const first = (element: Element, ...names: readonly string[]): Element | undefined =>
  find(element, ...names).next().value;

/** The children that are elements, of this name if one is given. */
export const childrenOf = (element: Element, name?: string): Element[] =>
  element.children.filter(
    (child): child is Element => !isText(child) && (name === undefined || child.name === name),
  );

/** All text in an element, or the text itself. */
export function textContent(node: Element | Text): string {
  const texts: string[] = [];
  const collect = (inner: Element | Text): void => {
    if (isText(inner)) texts.push(inner.text);
    else for (const child of inner.children) collect(child);
  };
  collect(node);
  return texts.join("");
}
