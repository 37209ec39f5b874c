/** Text of roff without fonts, sizes and motions. Source: groff(7). */

import { character, glyph } from "./glyphs.ts";

/** Escapes whose argument is a name: `x`, `(xx` or `[name]`. */
const NAMED = /^[fF*ngkmMYVO]$/;
/** Escapes whose argument is between two equal marks. */
const QUOTED = /^[hvwxlLDboXZABCNHSR]$/;
/** Those that print it. */
const PRINTED = /^[boZ]$/;
const SIZE = /[+-]?(?:\(\d\d|\[[^\]]{0,10}\]|'[^']{0,10}'|[123]\d|\d)|[('][+-]?\d{1,2}'?/y;
const BLANKS = " ~0";
/** Escapes that print nothing: they divide words, close conditions, or move. */
const SILENT = "&%/,|^:)!{}?dura\np";

export interface ShownText {
  readonly text: string;
  /** Whether what follows goes on without a space (`\c`). */
  readonly isJoined: boolean;
}

/** What a text without strings and registers shows. */
export function shownText(source: string): ShownText {
  const parts: string[] = [];
  let [at, isJoined] = [0, false];
  for (;;) {
    const next = source.indexOf("\\", at);
    if (next === -1) break;
    parts.push(source.slice(at, next));
    const mark = source[next + 1] ?? "";
    at = next + 1 + mark.length;
    if (mark === "c") isJoined = true;
    else if (mark === "(" || mark === "[") {
      const name = nameAt(source, at - 1);
      parts.push(glyph(name.name));
      at = name.end;
    } else if (NAMED.test(mark)) at = nameAt(source, at).end;
    else if (mark === "s") {
      SIZE.lastIndex = at;
      at += SIZE.exec(source)?.[0].length ?? 0;
    } else if (QUOTED.test(mark)) {
      const [argument, end] = quotedAt(source, at);
      if (mark === "C") parts.push(glyph(argument));
      else if (mark === "N") parts.push(character(argument, 10));
      else if (PRINTED.test(mark)) parts.push(shownText(argument.slice(0, 100)).text);
      at = end;
    } else if (BLANKS.includes(mark)) parts.push(mark === "" ? "" : " ");
    else if (mark === "e" || mark === "E") parts.push("\\");
    else if (mark === "t") parts.push("\t");
    else if (!SILENT.includes(mark) && mark !== "z") parts.push(mark);
  }
  parts.push(source.slice(at));
  return { text: parts.join(""), isJoined };
}

/** A name at a position: `x`, `(xx` or `[name]`, and the position behind it. */
export function nameAt(
  source: string,
  at: number,
): { readonly name: string; readonly end: number } {
  const mark = source[at] ?? "";
  if (mark === "(") return { name: source.slice(at + 1, at + 3), end: at + 3 };
  if (mark !== "[") return { name: mark, end: at + mark.length };
  const end = source.indexOf("]", at);
  const last = end === -1 ? source.length : end;
  return { name: source.slice(at + 1, last), end: last + 1 };
}

/** An argument between two equal marks, and the position behind it. */
function quotedAt(source: string, at: number): readonly [argument: string, end: number] {
  const mark = source[at];
  if (mark === undefined) return ["", at];
  const end = source.indexOf(mark, at + 1);
  const last = end === -1 ? source.length : end;
  return [source.slice(at + 1, last), last + 1];
}
