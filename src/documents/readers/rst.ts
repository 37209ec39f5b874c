/**
 * reStructuredText, with the directives of Sphinx. Its sections, lists and tables become elements
 * of HTML.
 *
 * Source: https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html
 */

import { append } from "../../math/append.ts";
import type { Budget } from "../file/budget.ts";
import type { SourceFile } from "../file/source-file.ts";
import { parseRows } from "../tables/delimited.ts";
import type { Document } from "../tree/document.ts";
import { addElements, element, type Node, text } from "../tree/html-tree.ts";
import { childrenOf, isText } from "../tree/markup.ts";
import { Outline } from "../tree/outline.ts";
import { inlineNodes } from "./rst/inline.ts";
import {
  gridTable,
  isGridBorder,
  isSimpleBorder,
  type PlainTable,
  simpleTable,
} from "./rst/tables.ts";

/** Quotes inside of quotes. */
const MAX_LEVELS = 50;
const RULE = /^([!-/:-@[-`{-~])\1{2,}\s*$/;
const ITEM = /^(\s{0,100})([-*+•]|\(?(?:\d{1,5}|#|[A-Za-z]|[ivxlcIVXLC]{1,7})[.)])\s+(?=\S)/;
const DIRECTIVE = /^\.\. (?:\|([^|]{1,100})\| )?([\w:.+-]{1,60})::(?:\s(.*))?$/;
const NOTE = /^\.\. \[([\w#*.-]{1,50})\]\s+/;
const FIELD = /^:([^:\s][^:]{0,100}):(?:\s(.*))?$/;
const CODE =
  /^(?:code|code-block|sourcecode|parsed-literal|literalinclude|prompt|doctest|testcode)$/;
const LEFT_OUT =
  /^(?:toctree|contents|sectnum|include|raw|index|meta|highlight|default-role|role|title|currentmodule|module|automodule|auto\w{1,30}|target-notes|header|footer|tabularcolumns)$/;
const NOTES = /^(?:note|warning|tip|hint|important|caution|danger|attention|error|seealso|todo)$/;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const source = await file.text();
  const outline = new Outline();
  const lines = source.split("\n").map((line) => line.trimEnd().replaceAll("\t", "        "));
  addElements(new RstParser(file.budget, lines).nodes(), outline, file.budget);
  yield outline.document(undefined);
}

/** Lines of the file, from which the same indentation may have been taken. */
interface Lines {
  readonly lines: readonly string[];
  /** The line of the file of the first one. */
  readonly first: number;
}

class RstParser {
  readonly #budget: Budget;
  readonly #all: readonly string[];
  readonly #substitutions = new Map<string, string>();
  /** The marks of headings, from the outermost to the innermost. */
  readonly #headings: string[] = [];

  constructor(budget: Budget, lines: readonly string[]) {
    this.#budget = budget;
    this.#all = lines;
  }

  nodes(): Node[] {
    for (const line of this.#all) {
      const [, name, directive, value = ""] = DIRECTIVE.exec(line) ?? [];
      if (name !== undefined && directive === "replace") this.#substitutions.set(name, value);
    }
    return this.#blocks({ lines: this.#all, first: 1 }, 0);
  }

  #blocks(given: Lines, level: number): Node[] {
    const nodes: Node[] = [];
    const { lines, first } = given;
    this.#budget.spend("steps", lines.length);
    if (level > MAX_LEVELS) return [element("p", [text(lines.join("\n"), first)])];
    for (let at = 0; at < lines.length; ) {
      const line = lines[at]!;
      if (line === "") at++;
      else at = this.#block(given, at, level, nodes);
    }
    return nodes;
  }

  /** Adds the block that begins on line `at`. Returns the line after it. */
  #block(given: Lines, at: number, level: number, nodes: Node[]): number {
    const { lines, first } = given;
    const [line, next = ""] = [lines[at]!, lines[at + 1]];
    const heading = this.#heading(lines, at, first, nodes);
    if (heading > 0) return at + heading;
    if (line.startsWith(" ")) {
      const end = blockEnd(lines, at, 1);
      append(nodes, this.#blocks(dedented(lines, at, end, first), level + 1));
      return end;
    }
    if (isGridBorder(line)) return this.#table(lines, at, first, nodes, gridTable);
    if (isSimpleBorder(line)) return this.#table(lines, at, first, nodes, simpleTable);
    if (line === ".." || line.startsWith(".. ")) return this.#explicit(given, at, level, nodes);
    if (line.startsWith(">>>")) {
      const end = paragraphEnd(lines, at);
      nodes.push(element("pre", [text(lines.slice(at, end).join("\n"), first + at)]));
      return end;
    }
    if (ITEM.test(line)) return this.#list(given, at, level, nodes);
    if (FIELD.test(line)) return this.#fields(given, at, nodes);
    if (line.startsWith("| ")) return this.#lineBlock(lines, at, first, nodes);
    if (RULE.test(line) && next === "") return at + 1;
    const isTerm = next.startsWith(" ") && !line.endsWith("::");
    return isTerm ? this.#definition(given, at, level, nodes) : this.#paragraph(given, at, nodes);
  }

  /** The number of lines of a heading; 0 if there is none. */
  #heading(lines: readonly string[], at: number, first: number, nodes: Node[]): number {
    const isOver = RULE.test(lines[at]!) && lines[at + 2] === lines[at] && lines[at + 1] !== "";
    const title = lines[isOver ? at + 1 : at]!;
    const rule = lines[isOver ? at + 2 : at + 1] ?? "";
    if (!RULE.test(rule) || title.trim() === "" || (!isOver && title.startsWith(" "))) return 0;
    if (!isOver && (RULE.test(title) || rule.length < Math.min(title.length, 4))) return 0;
    if (isGridBorder(title) || isSimpleBorder(lines[at]!)) return 0;
    const mark = `${isOver ? "over" : ""}${rule[0]}`;
    if (!this.#headings.includes(mark)) this.#headings.push(mark);
    const level = Math.min(6, this.#headings.indexOf(mark) + 1);
    nodes.push(element(`h${level}`, this.#inline(title.trim(), first + at), {}, first + at));
    return isOver ? 3 : 2;
  }

  #inline(source: string, line: number): Node[] {
    return inlineNodes(source, line, this.#substitutions);
  }

  /** A paragraph, and the code below it if it ends with `::`. */
  #paragraph({ lines, first }: Lines, at: number, nodes: Node[]): number {
    const end = paragraphEnd(lines, at);
    const source = lines.slice(at, end).join("\n");
    const isCode = source.endsWith("::");
    const shown = isCode ? source.replace(/(?:^|\s)::$/, "").replace(/::$/, ":") : source;
    if (shown !== "") nodes.push(element("p", this.#inline(shown, first + at), {}, first + at));
    if (!isCode) return end;
    const start = skipBlank(lines, end);
    if (!lines[start]?.startsWith(" ")) return end;
    return this.#code(lines, start, blockEnd(lines, start, 1), first, nodes);
  }

  #code(lines: readonly string[], from: number, end: number, first: number, nodes: Node[]): number {
    const own = dedented(lines, from, end, first);
    nodes.push(element("pre", [text(own.lines.join("\n"), own.first)], {}, own.first));
    return end;
  }

  #definition({ lines, first }: Lines, at: number, level: number, nodes: Node[]): number {
    const end = blockEnd(lines, at + 1, 1);
    const inner = this.#blocks(dedented(lines, at + 1, end, first), level + 1);
    nodes.push(
      element("dl", [
        element("dt", this.#inline(lines[at]!, first + at), {}, first + at),
        element("dd", inner, {}, first + at + 1),
      ]),
    );
    return end;
  }

  #list({ lines, first }: Lines, start: number, level: number, nodes: Node[]): number {
    const items: Node[] = [];
    let at = start;
    for (let match = ITEM.exec(lines[at] ?? ""); match; match = ITEM.exec(lines[at] ?? "")) {
      if (match[1] !== "") break;
      const width = match[0].length;
      const end = Math.max(at + 1, blockEnd(lines, at + 1, width));
      const own = [
        lines[at]!.slice(width),
        ...lines.slice(at + 1, end).map((line) => line.slice(width)),
      ];
      const inner = this.#blocks({ lines: own, first: first + at }, level + 1);
      const marker = /^[-*+•]$/.test(match[2]!)
        ? "-"
        : match[2]!.replace("#", `${items.length + 1}`);
      items.push(element("li", inner, { "data-marker": marker }, first + at));
      at = skipBlank(lines, end);
    }
    nodes.push(element("ul", items));
    return at;
  }

  #fields({ lines, first }: Lines, start: number, nodes: Node[]): number {
    const items: Node[] = [];
    let at = start;
    for (let match = FIELD.exec(lines[at] ?? ""); match; match = FIELD.exec(lines[at] ?? "")) {
      const end = blockEnd(lines, at + 1, 1);
      const rest = lines.slice(at + 1, end).map((line) => line.trim());
      const value = [match[2] ?? "", ...rest].join(" ").trim();
      items.push(element("dt", this.#inline(match[1]!, first + at), {}, first + at));
      items.push(element("dd", this.#inline(value, first + at), {}, first + at));
      at = end;
    }
    nodes.push(element("dl", items));
    return at;
  }

  #lineBlock(lines: readonly string[], start: number, first: number, nodes: Node[]): number {
    let at = start;
    const children: Node[] = [];
    for (; lines[at]?.startsWith("|"); at++) {
      append(children, this.#inline(lines[at]!.slice(1).trim(), first + at));
      children.push(element("br", []));
    }
    nodes.push(element("p", children));
    return at;
  }

  #table(
    lines: readonly string[],
    at: number,
    first: number,
    nodes: Node[],
    parse: (lines: readonly string[], first: number) => PlainTable,
  ): number {
    let end = at + 1;
    if (parse === gridTable) while (/^[+|]/.test(lines[end] ?? "")) end++;
    else {
      // the last border has a blank line below it
      while (end < lines.length && !(isSimpleBorder(lines[end]!) && (lines[end + 1] ?? "") === ""))
        end++;
      end = Math.min(lines.length, end + 1);
    }
    nodes.push(this.#tableNode(parse(lines.slice(at, end), first + at)));
    return end;
  }

  #tableNode({ rows, headerRows }: PlainTable): Node {
    const made = rows.map(({ cells, line }) =>
      element(
        "tr",
        cells.map((cell) => element("td", this.#inline(cell, line), {}, line)),
        {},
        line,
      ),
    );
    return element("table", [
      element("thead", made.slice(0, headerRows)),
      element("tbody", made.slice(headerRows)),
    ]);
  }

  /** Directives, notes, targets and comments. */
  #explicit({ lines, first }: Lines, at: number, level: number, nodes: Node[]): number {
    const end = blockEnd(lines, at + 1, 1);
    const [, substitution, name, argument = ""] = DIRECTIVE.exec(lines[at]!) ?? [];
    const note = NOTE.exec(lines[at]!);
    if (note) {
      const own = dedented(lines, at + 1, end, first);
      const body = { lines: [lines[at]!.slice(note[0].length), ...own.lines], first: first + at };
      append(nodes, this.#blocks(body, level + 1));
    } else if (name !== undefined && substitution === undefined)
      this.#directive(
        name.toLowerCase(),
        argument.trim(),
        dedented(lines, at + 1, end, first),
        level,
        nodes,
      );
    return end;
  }

  #directive(given: string, argument: string, all: Lines, level: number, nodes: Node[]): void {
    const name = given.slice(given.lastIndexOf(":") + 1);
    const { options, content } = optionsOf(all);
    const line = all.first - 1;
    if (LEFT_OUT.test(name)) return;
    if (CODE.test(name))
      nodes.push(
        element("pre", [text(content.lines.join("\n"), content.first)], {}, content.first),
      );
    else if (name === "image" || name === "figure") {
      nodes.push(element("p", [element("img", [], { alt: options.get("alt") ?? "" })], {}, line));
      append(nodes, this.#blocks(content, level + 1));
    } else if (name === "csv-table") this.#csvTable(argument, options, content, nodes);
    else if (name === "list-table") this.#listTable(argument, options, content, level, nodes);
    else {
      const isNote = NOTES.test(name) || name === "admonition";
      const label =
        isNote && name !== "admonition" ? `${name[0]!.toUpperCase()}${name.slice(1)}: ` : "";
      const shown = /^(?:rubric|only|ifconfig|container|class|tab-set|tabs|grid)$/.test(name)
        ? name === "rubric"
          ? argument
          : ""
        : argument;
      const children = [...(label ? [text(label, line)] : []), ...this.#inline(shown, line)];
      const inner = this.#blocks(content, level + 1);
      const [firstBlock] = inner;
      if (label && shown === "" && firstBlock && !isText(firstBlock) && firstBlock.name === "p")
        firstBlock.children.unshift(text(label, line));
      else if (children.length > 0) nodes.push(element("p", children, {}, line));
      append(nodes, inner);
    }
  }

  #csvTable(
    title: string,
    options: ReadonlyMap<string, string>,
    content: Lines,
    nodes: Node[],
  ): void {
    const parse = (source: string): (readonly string[])[] =>
      Array.from(
        parseRows(source, { separator: "," }, "a csv-table", this.#budget),
        ({ cells }) => cells,
      );
    const header = options.get("header");
    const names = header === undefined ? [] : parse(header);
    const rows = [...names, ...parse(content.lines.join("\n"))].filter(
      (row) => row.join("") !== "",
    );
    const count = names.length + (Number.parseInt(options.get("header-rows") ?? "0", 10) || 0);
    this.#addTable(
      title,
      rows.map((cells) => ({ cells, line: content.first })),
      count,
      nodes,
    );
  }

  #addTable(title: string, rows: PlainTable["rows"], headerRows: number, nodes: Node[]): void {
    if (title !== "") nodes.push(element("p", this.#inline(title, 0)));
    nodes.push(this.#tableNode({ rows, headerRows }));
  }

  /** A list of rows, each a list of cells. */
  #listTable(
    title: string,
    options: ReadonlyMap<string, string>,
    content: Lines,
    level: number,
    nodes: Node[],
  ): void {
    const [list] = this.#blocks(content, level + 1);
    const rows = list && !isText(list) ? childrenOf(list, "li") : [];
    const made = rows.map((row) => {
      const cells = childrenOf(row).flatMap((inner) => childrenOf(inner, "li"));
      return element(
        "tr",
        cells.map((cell) => ({ ...cell, name: "td" })),
        {},
        row.line,
      );
    });
    const count = Number.parseInt(options.get("header-rows") ?? "0", 10) || 0;
    if (title !== "") nodes.push(element("p", this.#inline(title, 0)));
    nodes.push(
      element("table", [
        element("thead", made.slice(0, count)),
        element("tbody", made.slice(count)),
      ]),
    );
  }
}

/** The options at the beginning of a directive, and what follows. */
function optionsOf({ lines, first }: Lines): { options: Map<string, string>; content: Lines } {
  const options = new Map<string, string>();
  let at = 0;
  for (let match = FIELD.exec(lines[at] ?? ""); match; match = FIELD.exec(lines[++at] ?? ""))
    options.set(match[1]!, (match[2] ?? "").trim());
  while (at < lines.length && lines[at] === "") at++;
  return { options, content: { lines: lines.slice(at), first: first + at } };
}

/** The line after the last one that is indented by `width` or more. */
function blockEnd(lines: readonly string[], from: number, width: number): number {
  const margin = " ".repeat(width);
  let [at, end] = [from, from];
  for (; at < lines.length; at++) {
    if (lines[at] === "") continue;
    if (!lines[at]!.startsWith(margin)) break;
    end = at + 1;
  }
  return end;
}

function paragraphEnd(lines: readonly string[], from: number): number {
  let at = from + 1;
  while (at < lines.length && lines[at] !== "" && !lines[at]!.startsWith(" ")) at++;
  return at;
}

function skipBlank(lines: readonly string[], from: number): number {
  let at = from;
  while (lines[at] === "") at++;
  return at;
}

/** Lines without the indentation that all of them have. */
function dedented(lines: readonly string[], from: number, end: number, first: number): Lines {
  const own = lines.slice(from, end);
  const widths = own
    .filter((line) => line !== "")
    .map((line) => line.length - line.trimStart().length);
  const width = widths.reduce((least, one) => Math.min(least, one), 1_000);
  return { lines: own.map((line) => line.slice(width)), first: first + from };
}
