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
/** Below a title of one or two letters. `..` and `::` have another meaning. */
const SHORT_RULE = /^(?!\.\.|::)([!-/:-@[-`{-~])\1?$/;
const ITEM = /^(\s{0,100})([-*+•]|\(?(?:\d{1,5}|#|[A-Za-z]|[ivxlcIVXLC]{1,7})[.)])\s+(?=\S)/;
const DIRECTIVE = /^\.\. (?:\|([^|]{1,100})\| )?([\w:.+-]{1,60})::(?:\s(.*))?$/;
const NOTE = /^\.\. \[([\w#*.-]{1,50})\](?:\s+|$)/;
const FIELD = /^:([^:\s][^:]{0,100}):(?:\s(.*))?$/;
/** `-a, --all=X  What it does`, also with the text on the lines below. */
const OPTION =
  /^((?:-\w|--[\w-]{1,40}|\/\w)(?:[ =](?:<[^<>]{1,40}>|[\w-]{1,40}))?(?:, (?:-\w|--[\w-]{1,40}|\/\w)(?:[ =](?:<[^<>]{1,40}>|[\w-]{1,40}))?){0,5})(?: {2,}(\S.*))?$/;
const CODE =
  /^(?:code|code-block|sourcecode|parsed-literal|literalinclude|prompt|doctest|testcode)$/;
const LEFT_OUT =
  /^(?:toctree|contents|sectnum|include|raw|index|meta|highlight|default-role|role|title|currentmodule|module|target-notes|header|footer|tabularcolumns|(?:section|module|code)author)$/;
/** What Sphinx describes: its text is below its signature, or with `auto` also in the code. */
const OBJECT =
  /^(?:auto\w{1,30}|(?:class|static)?method|class|function|attribute|property|data|exception|decorator|option|cmdoption|envvar|confval|setting|describe|object|macro|type|struct|enum|enumerator|member|var)$/;
/** What Sphinx writes before a version. */
const VERSIONS = new Map([
  ["versionadded", "Added in version"],
  ["versionchanged", "Changed in version"],
  ["deprecated", "Deprecated since version"],
  ["versionremoved", "Removed in version"],
]);
/** What stands before a text, if not the name of its directive. */
const LABELS = new Map([...VERSIONS, ["seealso", "See also"]]);
const NOTES = /^(?:note|warning|tip|hint|important|caution|danger|attention|error|seealso|todo)$/;
const WITHOUT_ARGUMENT = /^(?:only|ifconfig|container|class|tab-set|tabs|grid)$/;

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
    for (const [at, line] of this.#all.entries()) {
      const [, name, directive, value = ""] = DIRECTIVE.exec(line) ?? [];
      if (name === undefined) continue;
      if (directive === "unicode") this.#substitutions.set(name, characters(value));
      const rest = dedented(this.#all, at + 1, blockEnd(this.#all, at + 1, 1), 1);
      if (directive === "image")
        this.#substitutions.set(name, optionsOf(rest).options.get("alt") ?? "");
      if (directive === "replace")
        this.#substitutions.set(name, [value, ...rest.lines].join(" ").trim());
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
    if (line.startsWith("__ ")) return at + 1; // the target of an anonymous link
    if (line.startsWith(">>>")) {
      const end = paragraphEnd(lines, at);
      nodes.push(element("pre", [text(lines.slice(at, end).join("\n"), first + at)]));
      return end;
    }
    if (ITEM.test(line) && !isInitial(line, next)) return this.#list(given, at, level, nodes);
    if (FIELD.test(line)) return this.#fields(given, at, nodes);
    if (isOption(line, next)) return this.#options(given, at, level, nodes);
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
    const isRule = RULE.test(rule) || (SHORT_RULE.test(rule) && /^[\p{L}\p{N}]{1,2}$/u.test(title));
    if (!isRule || title.trim() === "" || (!isOver && title.startsWith(" "))) return 0;
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

  /** Options of a command, each with what it does. */
  #options({ lines, first }: Lines, start: number, level: number, nodes: Node[]): number {
    const items: Node[] = [];
    let at = start;
    while (isOption(lines[at] ?? "", lines[at + 1] ?? "")) {
      const [, name = "", shown = ""] = OPTION.exec(lines[at]!)!;
      const end = blockEnd(lines, at + 1, 1);
      const rest = dedented(lines, at + 1, end, first);
      const body = { lines: [shown, ...rest.lines], first: first + at };
      items.push(element("dt", [text(name, first + at)], {}, first + at));
      items.push(element("dd", this.#blocks(body, level + 1), {}, first + at));
      at = skipBlank(lines, end);
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
        cells.map(({ text: content, columns = 1, rows: covered = 1 }) => {
          const spans = { colspan: String(columns), rowspan: String(covered) };
          return element("td", this.#inline(content, line), spans, line);
        }),
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
    // an empty comment ends with its line
    if (lines[at] === ".." && (lines[at + 1] ?? "") === "") return at + 1;
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
    else if (labelOf(name) !== "") this.#labelled(name, argument, content, level, nodes);
    else if (OBJECT.test(name) && content.lines.length > 0) {
      const signature = element("dt", this.#inline(argument, line), {}, line);
      const body = element("dd", this.#blocks(content, level + 1), {}, content.first);
      nodes.push(element("dl", [signature, body], {}, line));
    } else {
      const shown = WITHOUT_ARGUMENT.test(name) ? "" : argument;
      const subtitle = options.get("subtitle") ?? ""; // of a sidebar
      if (shown !== "") nodes.push(element("p", this.#inline(shown, line), {}, line));
      if (subtitle !== "") nodes.push(element("p", this.#inline(subtitle, line), {}, line));
      append(nodes, this.#blocks(content, level + 1));
    }
  }

  /** A note, which begins with what it is: `Warning: `, `Added in version 2.1: `. */
  #labelled(name: string, argument: string, content: Lines, level: number, nodes: Node[]): void {
    const [version = ""] = VERSIONS.has(name) ? argument.split(/\s/, 1) : [];
    const label = `${labelOf(name)}${version && ` ${version}`}`;
    const [shown, first] = [argument.slice(version.length).trim(), content.first - 1];
    const body = { lines: [shown, ...content.lines], first };
    const inner = this.#blocks(body, level + 1);
    const [firstBlock] = inner;
    if (firstBlock && !isText(firstBlock) && firstBlock.name === "p")
      firstBlock.children.unshift(text(`${label}: `, firstBlock.line));
    else nodes.push(element("p", [text(inner.length > 0 ? `${label}:` : label, first)], {}, first));
    append(nodes, inner);
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
      rows.map((cells) => ({ cells: cells.map((cell) => ({ text: cell })), line: content.first })),
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

const labelOf = (name: string): string =>
  LABELS.get(name) ?? (NOTES.test(name) ? `${name[0]!.toUpperCase()}${name.slice(1)}` : "");

/** `A. Finn wrote` on the first of several lines begins no list: they are not indented. */
const isInitial = (line: string, next: string): boolean =>
  /^\(?[\dA-Za-z]/.test(line) && /^\S/.test(next) && !ITEM.test(next);

/** An option with what it does beside it, or below it. */
const isOption = (line: string, next: string): boolean => {
  const [, name, shown] = OPTION.exec(line) ?? [];
  return name !== undefined && (shown !== undefined || /^ +\S/.test(next));
};

/** The text of a directive `unicode`: `U+03B2`, `0x3b2`, `&#x3b2;` and words, before a comment. */
function characters(given: string): string {
  const parts = given.split(/(?:^|\s)\.\.\s/, 1)[0]!.split(/\s+/);
  return parts
    .map((part) => {
      const [, code] = /^(?:0x|x|\\x|U\+|u|\\u|&#x)([0-9a-f]{1,6});?$/i.exec(part) ?? [];
      const point = code === undefined ? Number.NaN : Number.parseInt(code, 16);
      return point <= 0x10_ff_ff ? String.fromCodePoint(point) : part;
    })
    .join(" ");
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
