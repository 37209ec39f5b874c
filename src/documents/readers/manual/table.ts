/** The tables of manual pages. Source: tbl(1). */

import { element, text } from "../../tree/html-tree.ts";
import type { Element } from "../../tree/markup.ts";

/** A row of marks alone draws a line. */
const RULE = /^[_=\s]*$/;

/**
 * The rows between `.TS` and `.TE`: options, formats up to a line that ends with a dot, and data,
 * whose cells are separated by tabs or by what the option `tab` says.
 *
 * @param first the line of the file of the call before the first one
 */
export function tableOf(
  lines: readonly string[],
  first: number,
  shown: (source: string) => string,
): Element[] {
  let at = 0;
  let separator = "\t";
  if (/;\s*$/.test(lines[0] ?? "")) {
    separator = /tab\s*\((.)\)/.exec(lines[0]!)?.[1] ?? "\t";
    at = 1;
  }
  at = afterFormats(lines, at);
  const rows: Element[] = [];
  for (; at < lines.length; at++) {
    const [line, number] = [lines[at]!, first + 1 + at];
    if (/^\.\s*T&/.test(line)) at = afterFormats(lines, at + 1) - 1;
    else if (/^[.'][ \t]*[A-Za-z]/.test(line)) {
      const content = shown(line);
      if (content !== "") rows.push(rowOf([content], number));
    } else if (!RULE.test(line)) {
      const { cells, end } = cellsOf(lines, at, separator);
      rows.push(
        rowOf(
          cells.map((cell) => cell.map(shown).join(" ")),
          number,
        ),
      );
      at = end;
    }
  }
  return rows.length > 0 ? [element("table", [element("tbody", rows)], {}, first)] : [];
}

function afterFormats(lines: readonly string[], from: number): number {
  const end = indexFrom(lines, from, (line) => line.trimEnd().endsWith("."));
  return end === lines.length ? from : end + 1;
}

/** The first line from here on that is one of these, or the end. */
function indexFrom(
  lines: readonly string[],
  from: number,
  isOne: (line: string) => boolean,
): number {
  let at = from;
  while (at < lines.length && !isOne(lines[at]!)) at++;
  return at;
}

/** The cells of a row, each with its lines: `T{` and `T}` are around a cell of several. */
function cellsOf(
  lines: readonly string[],
  start: number,
  separator: string,
): { readonly cells: string[][]; readonly end: number } {
  let at = start;
  const cells: string[][] = [];
  for (let rest = lines[at]!; ; ) {
    const parts = rest.split(separator);
    const isOpen = parts.at(-1)!.trim() === "T{";
    if (isOpen) parts.pop();
    for (const part of parts) cells.push([part]);
    if (!isOpen) return { cells, end: at };
    const close = indexFrom(lines, at + 1, (line) => line.startsWith("T}"));
    cells.push(lines.slice(at + 1, close));
    at = close;
    if (close === lines.length) return { cells, end: at };
    rest = lines[close]!.slice(2);
    if (!rest.startsWith(separator)) return { cells, end: at };
    rest = rest.slice(separator.length);
  }
}

const rowOf = (cells: readonly string[], line: number): Element =>
  element(
    "tr",
    cells.map((cell) => element("td", [text(cell.trim() === "_" ? "" : cell)])),
    {},
    line,
  );
