/** The blocks of an HTML tree: paragraphs, lists, tables and code, in their order. */

import type { BlockKind } from "../../text/block-kinds.ts";
import { tableRule } from "../../text/reading-form.ts";
import { countWords } from "../../text/units.ts";
import type { Budget } from "../file/budget.ts";
import type { LineMark } from "./document.ts";
import { type Cell, htmlTable } from "./html-table.ts";
import { childrenOf, type Element, find, first, isText, type Text, textContent } from "./markup.ts";
import type { BlockDetails } from "./outline.ts";
import { formula, subscript, superscript } from "./scripts.ts";

const names = (...lines: readonly string[]): ReadonlySet<string> =>
  new Set(lines.flatMap((line) => line.split(" ")));

const LEFT_OUT = names(
  "script style noscript canvas iframe object embed audio video head title",
  "button select option textarea input rp rt datalist del s strike",
);
const BLOCKS = names(
  "address article aside blockquote body caption center dd details dialog div dt fieldset figcaption figure footer form",
  "header hgroup hr html legend li main nav p search section summary tbody td tfoot th thead tr",
);
const HEADING = /^h[1-6]$/;
/** What a note stands in. */
const NOTE_BOX =
  /(?:^|[\s_-])(?:admonition|alert|callout|caution|danger|hint|important|info|note|tip|warning)(?:$|[\s_-])/i;
/** The title of a note opens no section: what follows the note is not a part of it. */
const NOTE = /^(?:note|warning|tip|hint|important|caution|attention|danger|info)s?[:.!]?$/i;
const NOTE_TITLE = /(?:^|[\s_-])title(?:\s|$)/i;
/** `vertical-align: super`, as programs write exponents. */
const SCRIPT_STYLE = /vertical-align\s*:\s*(super|sub)\b/i;
/** Marks at which a line may be broken; they are not shown. */
const INVISIBLE = /[\u00ad\ufeff]/g;
const HIDDEN_STYLE = /display\s*:\s*none|visibility\s*:\s*hidden/i;
/** Elements of a page that may be no part of its text. */
const ASIDES = names("nav footer aside");
const ASIDE_ROLES = names("navigation contentinfo complementary search");
const NAVIGATION = names("nav navigation search");
/** The words of rows that lead to other pages: "Prev Up Home Next". */
const NAVIGATION_WORD =
  /^(?:prev(?:ious)?|next|up|home|top|back|forward|contents|index|page|chapter)$/i;
const MAX_NAVIGATION_WORDS = 40;
/** Links of tools beside a heading or a term. */
const TOOL_LINK = /^\[?\s?(?:edit(?: source)?|source|src|docs|view source)\s?\]?$/i;
/** The same, where only the word between the brackets is a link. */
const TOOL_IN_BRACKETS = /\[(?:edit(?: source)?|source|src|view source)\]\s*$/i;
const TOOLS = /(?:^|\s)(?:mw-editsection|viewcode-(?:link|back))(?:\s|$)/;
const COOKIES =
  /\bcookie[-_]?(?:s[-_]?)?(?:banner|bar|consent|dialog|law|message|modal|notice|notification|overlay|popup|warning)|\b(?:onetrust|cybotcookiebot|gdpr|consent[-_]?(?:banner|modal|popup))/i;
/** Numbers of lines beside code. */
const LINE_NUMBERS = /(?:^|\s)(?:linenos?|line-numbers?|gutter|lineno)(?:\s|$)/;
const PERMALINK =
  /(?:^|\s)(?:headerlink|anchor(?:-?link)?|hash-?link|permalink|heading-link)(?:\s|$)/i;

/** A block, or a heading. */
export interface PageBlock {
  /** 1 to 6 for a heading, 0 for text. */
  readonly level: number;
  readonly text: string;
  readonly details: BlockDetails;
  /** The part of the page that it stands in. */
  readonly part: "main" | "article" | "quotation" | undefined;
  /** The innermost navigation, footer, aside or banner that it is in. */
  readonly aside: Aside | undefined;
  /** Words in links. */
  readonly linked: number;
}

/** A part of a page that may be no part of its text. */
export interface Aside {
  /** Whether it is a note to the text around it: an aside of the main part, not a navigation. */
  readonly isInText: boolean;
  /** Whether it asks for consent to cookies. */
  readonly isBanner: boolean;
}

/** Text that is being collected, with the lines that it stands on. */
class Collected {
  readonly marks: LineMark[] = [];
  readonly #parts: string[] = [];
  #length = 0;
  /** Its last character. To ask a growing string for it takes time in proportion to the string. */
  last = "";

  get text(): string {
    return this.#parts.join("");
  }

  /** @param line undefined for the line of the text before it */
  add(text: string, line?: number): void {
    if (line !== undefined && line > 0 && this.marks.at(-1)?.[1] !== line)
      this.marks.push([this.#length, line]);
    if (text === "") return;
    this.#parts.push(text);
    this.#length += text.length;
    this.last = text.slice(-1);
  }
}

interface OpenList {
  readonly indent: string;
  /** What the next line begins with. */
  marker: string;
}

export class HtmlBlocks {
  readonly blocks: PageBlock[] = [];
  readonly #budget: Budget;
  readonly #isPage: boolean;
  #running = new Collected();
  #listed = new Collected();
  readonly #lists: OpenList[] = [];
  #linked = 0;
  #part: PageBlock["part"];
  #aside: Aside | undefined;
  #isLink = false;
  #isNote = false;
  /** The term whose definition is being read. */
  #term: string | undefined;
  /** What buttons show and hide, by its id, with the name of its tab. */
  readonly #panels = new Map<string | Element, string>();

  /** @param isPage whether navigation and other parts of a web page are marked */
  constructor(budget: Budget, isPage: boolean) {
    this.#budget = budget;
    this.#isPage = isPage;
  }

  /** Reads all elements below `root`. */
  read(root: Element): void {
    if (this.#isPage) this.#findPanels(root);
    this.#children(root);
    this.#flush();
    this.#endList();
  }

  #children(element: Element): void {
    this.#budget.spend("steps", element.children.length);
    let question: Element | undefined; // the button before
    let isHeading = false; // whether a button in the heading before shows what follows
    for (const child of element.children) {
      if (isText(child)) {
        this.#text(child.text, child.line);
        continue;
      }
      if (question && /^(?:div|section|p)$/.test(child.name)) {
        this.#panels.set(child, "");
        this.#lead({ ...question, name: "span" }, "term");
      }
      if (isHeading && child.name === "div") this.#panels.set(child, ""); // of an accordion
      question = isDisclosure(child) ? child : undefined;
      isHeading = HEADING.test(child.name) && [...find(child, "button")].some(isDisclosure);
      this.#element(child);
    }
  }

  /** What is hidden until a button shows it is text: tabs, answers. */
  #findPanels(root: Element): void {
    const tabs: string[] = [];
    const panels: Element[] = [];
    const open = [root];
    for (let next = open.pop(); next; next = open.pop()) {
      const { role, "aria-controls": controls } = next.attributes;
      const name = role === "tab" ? textContent(next).trim() : "";
      if (role === "tab") tabs.push(name);
      if (role === "tabpanel") panels.push(next);
      for (const id of controls?.split(/\s+/) ?? []) this.#panels.set(id, name);
      this.#budget.spend("steps", next.children.length);
      for (const child of childrenOf(next).reverse()) open.push(child);
    }
    for (const [i, panel] of panels.entries())
      this.#panels.set(panel, tabs.length === panels.length ? tabs[i]! : "");
  }

  #panelName(element: Element): string | undefined {
    return this.#panels.get(element.attributes.id ?? "") || this.#panels.get(element);
  }

  #element(element: Element): void {
    const { name } = element;
    if (this.#isLeftOut(element)) this.#hiddenFormula(element);
    else if (HEADING.test(name)) this.#heading(Number(name[1]), element);
    else if (BLOCKS.has(name)) this.#block(element);
    else if (name === "br") this.#running.add("\n");
    else if (name === "pre" || name === "listing" || name === "xmp") this.#code(element);
    else if (name === "table") this.#table(element);
    else if (name === "ul" || name === "ol" || name === "menu") this.#list(element);
    else if (name === "dl") this.#definitions(element);
    else if (name === "img") this.#image(element);
    else if (name === "a") this.#link(element);
    else if (name === "svg") this.#drawing(element);
    else if (name === "template") this.#shadowRoot(element);
    else if (name === "q") this.#quoted(element);
    else if (name === "math") this.#text(` ${formula(element)} `, element.line);
    else {
      const script = scriptOf(element);
      if (script) this.#script(element, script);
      else this.#children(element);
    }
  }

  #block(element: Element): void {
    const [part, aside, isNote] = [this.#part, this.#aside, this.#isNote];
    this.#flush();
    if (isNavigationRow(element)) return;
    this.#isNote ||= element.name === "aside" || NOTE_BOX.test(element.attributes.class ?? "");
    if (this.#isPage) this.#enter(element);
    if (element.name === "summary") this.#lead({ ...element, name: "span" }, "term");
    else if (isNoteTitle(element)) this.#lead(element, "note");
    else if (element.attributes["data-kind"] === "term") this.#lead(element, "term");
    else this.#children(element);
    this.#flush();
    [this.#part, this.#aside, this.#isNote] = [part, aside, isNote];
  }

  #enter(element: Element): void {
    const { name, attributes } = element;
    const { role = "", class: classes = "", id = "" } = attributes;
    if (name === "main" || role === "main") this.#part = "main";
    else if (name === "article") this.#part ??= "article";
    else if (name === "blockquote" || name === "figure") this.#part ??= "quotation";
    const isNavigation = NAVIGATION.has(name) || NAVIGATION.has(role);
    const isBanner = name !== "body" && name !== "html" && COOKIES.test(`${id} ${classes}`);
    if (ASIDES.has(name) || ASIDE_ROLES.has(role) || isBanner)
      this.#aside = {
        isInText: !isNavigation && !isBanner && this.#part !== undefined,
        isBanner: isBanner && first(element, "button") !== undefined,
      };
    const tab = this.#panelName(element);
    if (tab) this.#lead({ ...element, children: [{ text: tab, line: element.line }] }, "term");
  }

  /** What is written in a drawing. */
  #drawing(element: Element): void {
    const texts = [...find(element, "text", "foreignobject")];
    if (texts.length === 0) return;
    this.#flush();
    for (const [i, text] of texts.entries()) {
      if (i > 0) this.#running.add("\n");
      this.#text(textContent(text).trim(), text.line);
    }
    this.#flush();
  }

  /** The contents of an element that a page defines itself. Other templates are not shown. */
  #shadowRoot(element: Element): void {
    const { shadowrootmode, shadowroot } = element.attributes;
    if ((shadowrootmode ?? shadowroot) !== undefined) this.#children(element);
  }

  #quoted(element: Element): void {
    this.#text("“", element.line);
    this.#children(element);
    this.#text("”", element.line);
  }

  #isLeftOut(element: Element): boolean {
    const { name, attributes } = element;
    const { class: classes = "", role = "", "epub:type": type } = attributes;
    if (name === "dialog" && attributes.open === undefined) return true;
    if (LEFT_OUT.has(name) || type === "pagebreak" || role === "doc-pagebreak") return true;
    if (LINE_NUMBERS.test(classes) && /^[\s\d]*$/.test(textContent(element))) return true;
    if (TOOLS.test(classes) && textContent(element).length <= MAX_NAVIGATION_WORDS) return true;
    if (this.#isHidden(element)) return true;
    return attributes["aria-hidden"] === "true" && !BLOCKS.has(name);
  }

  #isHidden(element: Element): boolean {
    const { name, attributes } = element;
    const isHidden = attributes.hidden !== undefined && attributes.hidden !== "until-found";
    if (!isHidden && !HIDDEN_STYLE.test(attributes.style ?? "")) return false;
    if (name === "body" || name === "html") return false; // until a script shows the page
    return this.#panelName(element) === undefined || isMostlyLinks(element);
  }

  /** Encyclopedias hide the MathML of a formula and show an image. */
  #hiddenFormula({ name, children, line }: Element): void {
    const [only, ...others] = children.filter(
      (child) => !isText(child) || child.text.trim() !== "",
    );
    if (name === "span" && only && others.length === 0 && !isText(only) && only.name === "math")
      this.#text(` ${formula(only)} `, line);
  }

  #text(text: string, line: number): void {
    let at = line;
    for (const part of text.split("\n")) {
      const shown = part.replace(INVISIBLE, "").replace(/\s+/gu, " ");
      if (at > line) this.#space();
      if (shown.startsWith(" ")) this.#space();
      const rest = shown.trimStart();
      if (rest !== "") this.#running.add(rest, at);
      at++;
    }
    if (this.#isLink) this.#linked += countWords(text);
  }

  #space(): void {
    if (!["", " ", "\n"].includes(this.#running.last)) this.#running.add(" ");
  }

  #script(element: Element, kind: "sup" | "sub"): void {
    if (isNoteReference(element)) return;
    const text = this.#inline({ ...element, attributes: {} });
    if (/^\[\w{1,4}\]$/.test(text)) return; // of a note without a link
    const write = kind === "sup" ? superscript : subscript;
    this.#running.add(write(text, this.#running.last), element.line);
  }

  #link(element: Element): void {
    if (isNoteLink(element) || isPermalink(element)) return;
    const isLink = this.#isLink;
    this.#isLink = true;
    this.#children(element);
    this.#isLink = isLink;
  }

  /** A description of two words or more says what is to be seen; that of a badge is in a link. */
  #image({ attributes: { alt = "", class: classes = "" }, line }: Element): void {
    const isFormula = /mwe-math/.test(classes); // its MathML is beside it
    if (!this.#isLink && !isFormula && /\S\s+\S/.test(alt)) this.#text(` ${alt} `, line);
  }

  #heading(level: number, element: Element): void {
    this.#flush();
    this.#endList();
    const text = this.#inline(element, true);
    if (this.#isNote && NOTE.test(text)) {
      this.#lead(element, "note");
      return;
    }
    this.#emit(level, text, element.line > 0 ? { lines: [[0, element.line]] } : {});
  }

  /** A text that belongs to the next block. */
  #lead(element: Element, kind: BlockKind): void {
    this.#flush();
    const { line } = element;
    const text = this.#inline(element, kind !== "caption");
    this.#emit(0, text, { kind, ...(line > 0 && { lines: [[0, line]] }) });
  }

  /** The text of an element as one line. */
  #inline(element: Element, isHeading = false): string {
    const inner = new HtmlBlocks(this.#budget, false);
    const content = isHeading ? withoutPermalinks(element, this.#budget) : element;
    inner.read({ ...content, name: "" });
    this.#linked += inner.blocks.reduce((sum, { linked }) => sum + linked, 0);
    const text = inner.blocks.map(({ text, details }) => oneLine(text, details)).join(" ");
    return (isHeading ? text.replace(TOOL_IN_BRACKETS, "") : text).trim();
  }

  #code(element: Element): void {
    this.#flush();
    this.#endList();
    const code = new Collected();
    const collect = (inner: Element): void => {
      for (const child of inner.children)
        if (!isText(child)) {
          if (child.name === "br") code.add("\n");
          else if (!this.#isLeftOut(child)) collect(child);
        } else
          for (const [i, line] of child.text.split("\n").entries()) {
            if (i > 0) code.add("\n");
            if (line !== "") code.add(line, child.line > 0 ? child.line + i : undefined);
          }
    };
    collect(element);
    const { text } = code;
    const start = /^(?:[^\S\n]*\n)*/.exec(text)![0].length;
    this.#emit(0, text.slice(start).trimEnd(), {
      kind: "code",
      ...linesOf(code.marks.map(([at, line]) => [Math.max(0, at - start), line])),
    });
  }

  #table(element: Element): void {
    this.#flush();
    this.#endList();
    if (isNavigationRow(element)) return;
    const table = htmlTable(element, (cell) => this.#inline(cell), this.#budget);
    if (!table) {
      this.#block({ ...element, name: "div" });
      return;
    }
    for (const caption of childrenOf(element, "caption")) this.#lead(caption, "caption");
    this.#rows(table.rows, table.headerRows);
  }

  #rows(
    rows: readonly { readonly cells: readonly Cell[]; line: number }[],
    headerRows: number,
  ): void {
    const marks: LineMark[] = [];
    const lines: string[] = [];
    let header: string | undefined;
    let length = 0;
    for (const [i, { cells, line }] of rows.entries()) {
      const text = rowText(cells);
      if (text !== "") {
        if (line > 0) marks.push([length, line]);
        lines.push(text);
        length += text.length + 1;
      }
      if (i + 1 === headerRows && headerRows < rows.length && lines.length > 0) {
        const rule = tableRule(cells.length);
        lines.push(rule);
        length += rule.length + 1;
        header = lines.join("\n");
      }
    }
    this.#emit(0, lines.join("\n"), {
      kind: "table",
      ...(header && { header }),
      ...linesOf(marks),
    });
  }

  #list(element: Element): void {
    this.#flush();
    const { attributes } = element;
    const indent = "  ".repeat(this.#lists.length);
    const isOrdered = element.name === "ol";
    let number = Number.parseInt(attributes.start ?? "1", 10) || 1;
    for (const child of element.children) {
      if (isText(child)) continue;
      const own = Number.parseInt(child.attributes.value ?? "", 10);
      if (!Number.isNaN(own)) number = own;
      const given = child.attributes["data-marker"]; // of a list of another format
      const mark =
        given !== undefined
          ? given && `${given} `
          : isOrdered
            ? `${listNumber(number, attributes.type)}. `
            : "- ";
      if (child.name === "li") number++;
      this.#lists.push({ indent, marker: child.name === "li" ? mark : "" });
      this.#element(child);
      this.#flush();
      this.#lists.pop();
    }
    if (this.#lists.length === 0) this.#endList();
  }

  /** `term: definition` for definitions of one paragraph; others are terms and blocks. */
  #definitions(element: Element): void {
    const isSimple = childrenOf(element).every(
      (child) =>
        child.name === "dt" ||
        (child.name === "dd" && !first(child, "p", "ul", "ol", "dl", "pre", "table", "div")) ||
        (child.name === "dd" && childrenOf(child).length === 1 && first(child, "p")),
    );
    if (!isSimple && this.#lists.length > 0) {
      this.#block({ ...element, name: "div" });
      return;
    }
    this.#flush();
    if (!isSimple) {
      const outer = this.#term;
      let terms: string[] = [];
      for (const child of childrenOf(element))
        if (child.name === "dt") {
          this.#lead(child, "term");
          terms.push(this.blocks.at(-1)?.text ?? "");
        } else {
          this.#term = terms.join(", ");
          this.#element(child);
          this.#flush();
          this.#term = outer;
          terms = [];
        }
      return;
    }
    const indent = "  ".repeat(this.#lists.length);
    const terms: string[] = [];
    for (const child of childrenOf(element)) {
      const text = this.#inline(child, child.name === "dt");
      if (child.name === "dt") terms.push(text);
      else {
        this.#addItem(`${indent}${[...terms.splice(0), text].join(": ")}`, child.line);
      }
    }
    for (const term of terms) this.#addItem(indent + term, element.line);
    if (this.#lists.length === 0) this.#endList();
  }

  #addItem(text: string, line: number): void {
    if (this.#listed.last !== "") this.#listed.add("\n");
    this.#listed.add(text, line);
  }

  /** Ends the running text: it becomes a paragraph, or a line of the list that is open. */
  #flush(): void {
    const { text, marks } = this.#running;
    this.#running = new Collected();
    if (text.trim() === "") return;
    const list = this.#lists.at(-1);
    if (!list) {
      this.#emit(0, text.trimEnd(), linesOf(marks));
      return;
    }
    const marker = list.marker;
    list.marker = "  "; // of further paragraphs of the item
    this.#addItem(list.indent + marker + oneLine(text, {}).trim(), marks[0]?.[1] ?? 0);
    for (const [, line] of marks.slice(1)) this.#listed.add("", line);
  }

  #endList(): void {
    const { text, marks } = this.#listed;
    this.#listed = new Collected();
    this.#emit(0, text, { kind: "list", ...linesOf(marks) });
  }

  #emit(level: number, text: string, details: BlockDetails): void {
    if (text.trim() === "") return;
    this.#budget.spend("characters", text.length);
    const [part, aside, linked] = [this.#part, this.#aside, this.#linked];
    this.#linked = 0;
    const own = this.#term === undefined ? details : { ...details, term: this.#term };
    this.blocks.push({ level, text, details: own, part, aside, linked });
  }
}

const linesOf = (marks: readonly LineMark[]): BlockDetails =>
  marks.length > 0 ? { lines: marks } : {};

/** A row as text. Empty cells stay, so that each value stands in its column. */
const rowText = (cells: readonly string[]): string => {
  const text = cells.map((cell) => cell.replace(/\s+/gu, " ").trim()).join(" | ");
  return /[^\s|]/.test(text) ? text.trim() : "";
};

const oneLine = (text: string, { kind }: BlockDetails): string =>
  kind === "list" || kind === "table"
    ? text
        .split("\n")
        .map((line) => line.replace(/^\s*- /, "").trim())
        .join("; ")
    : text.replace(/\s+/gu, " ");

/** `3`, `c`, `C`, `iii` or `III`. @param type `a`, `A`, `i`, `I`, or another for digits */
export function listNumber(number: number, type: string | undefined): string {
  if (number < 1 || type === undefined) return String(number);
  if (type === "a" || type === "A") return number <= 26 ? letter(number, type) : String(number);
  if (type !== "i" && type !== "I") return String(number);
  return type === "i" ? roman(number).toLowerCase() : roman(number);
}

const letter = (number: number, first: string): string =>
  String.fromCharCode(first.charCodeAt(0) + number - 1);

const ROMAN = [
  [1000, "M"],
  [900, "CM"],
  [500, "D"],
  [400, "CD"],
  [100, "C"],
  [90, "XC"],
  [50, "L"],
  [40, "XL"],
  [10, "X"],
  [9, "IX"],
  [5, "V"],
  [4, "IV"],
  [1, "I"],
] as const;

/** @param number at least 1; from 4,000 on it is written in digits */
export function roman(number: number): string {
  if (number >= 4_000) return String(number);
  let rest = number;
  return ROMAN.map(([value, text]) => {
    const count = Math.floor(rest / value);
    rest -= count * value;
    return text.repeat(count);
  }).join("");
}

/** `<sup><a href="#fn1">1</a></sup>` refers to a note; the note itself is read where it stands. */
const isNoteReference = (element: Element): boolean =>
  childrenOf(element).some(
    (child) =>
      (child.name === "a" && (child.attributes.href ?? "").includes("#")) ||
      childrenOf(child, "a").some(({ attributes }) => (attributes.href ?? "").includes("#")),
  );

/** A link around the number of a note, or back from it. */
function isNoteLink({ attributes, children }: Element): boolean {
  const { href = "", role = "", "epub:type": type = "", class: classes = "" } = attributes;
  if (/doc-(?:noteref|backlink)/.test(role) || /\bnoteref\b/.test(type)) return true;
  if (!href.includes("#")) return false;
  if (/footnote-(?:ref|backref)|\bfootnote-reference\b/.test(classes)) return true;
  const shown = children.filter((child) => !isText(child) || child.text.trim() !== "");
  return shown.length === 1 && isNoteMark(shown[0]!);
}

const isNoteMark = (node: Element | Text): boolean =>
  isText(node) ? /^(?:[\s↩↑⏎^]|\p{Variation_Selector})+$/u.test(node.text) : node.name === "sup";

/** Whether an element is raised or lowered text. */
function scriptOf({ name, attributes: { style = "" } }: Element): "sup" | "sub" | undefined {
  if (name === "sup" || name === "sub") return name;
  if (name !== "span" && name !== "font") return undefined;
  const [, kind] = SCRIPT_STYLE.exec(style) ?? [];
  return kind === undefined ? undefined : kind.toLowerCase() === "sub" ? "sub" : "sup";
}

/** Whether a button shows and hides what follows it. */
const isDisclosure = ({ name, attributes }: Element): boolean =>
  name === "button" &&
  attributes.role !== "tab" &&
  (attributes["aria-expanded"] ?? attributes["aria-controls"]) !== undefined;

const isNoteTitle = (element: Element): boolean =>
  element.attributes["data-kind"] === "note" ||
  (NOTE_TITLE.test(element.attributes.class ?? "") && NOTE.test(shortText(element)));

/** The text of an element with few children, as others are no titles. */
const shortText = (element: Element): string =>
  element.children.length <= 3 ? textContent(element).trim() : "";

function isMostlyLinks(element: Element): boolean {
  const linked = [...find(element, "a")].reduce((sum, a) => sum + countWords(textContent(a)), 0);
  return 2 * linked >= countWords(textContent(element));
}

/** A row of links to the page before, the next one and the contents. */
function isNavigationRow(element: Element): boolean {
  if (!/^(?:table|p|tr)$/.test(element.name)) return false;
  const links = [...find(element, "a")].map((link) =>
    textContent(link)
      .replace(/[^\p{L}\s]/gu, "")
      .trim(),
  );
  return (
    links.filter((text) => NAVIGATION_WORD.test(text)).length >= 2 &&
    countWords(textContent(element)) <= MAX_NAVIGATION_WORDS
  );
}

/** A link of a heading to itself, such as `¶`, or to the place where it can be edited. */
function isPermalink(element: Element): boolean {
  if (element.name !== "a") return false;
  const text = textContent(element).trim();
  const { class: classes = "" } = element.attributes;
  return PERMALINK.test(classes) && /^[¶#§🔗⚓*]$/u.test(text);
}

/** A heading without the links to itself, such as `¶`. A button is its text if nothing else is. */
function withoutPermalinks(element: Element, budget: Budget): Element {
  const isButton = [...find(element, "button")].some((one) => textContent(one).trim() !== "");
  const isAll = isButton && textContent(without(element, "button")).trim() === "";
  return withoutTools(element, isAll, budget);
}

const without = (element: Element, name: string): Element => ({
  ...element,
  children: element.children
    .filter((child) => isText(child) || child.name !== name)
    .map((child) => (isText(child) ? child : without(child, name))),
});

function withoutTools(element: Element, hasButtons: boolean, budget: Budget): Element {
  budget.spend("steps", element.children.length);
  const isTool = (child: Element): boolean => {
    if (child.name !== "a") return false;
    const text = textContent(child).trim();
    if (TOOL_LINK.test(text) && text.startsWith("[")) return true;
    if (text.length > 1 && !/^(?:direct )?(?:perma)?link\b/i.test(text) && text !== "🔗")
      return false;
    const { class: classes = "", href = "", title = "" } = child.attributes;
    return (
      /^[¶#§🔗⚓*]?$/u.test(text) ||
      PERMALINK.test(classes) ||
      (href.startsWith("#") && title !== "")
    );
  };
  const children = element.children
    .filter((child) => isText(child) || !isTool(child))
    .map((child) =>
      isText(child) || child.name === "a" ? child : withoutTools(child, hasButtons, budget),
    );
  const name = element.name === "button" && hasButtons ? "span" : element.name;
  return { ...element, name, children };
}
