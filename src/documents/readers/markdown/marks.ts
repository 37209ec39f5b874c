/**
 * Marks in a text that CommonMark does not have: links, comments and highlights of Obsidian,
 * comments of MDX, short codes of Hugo and tags of Liquid, attributes of kramdown, formulas of TeX,
 * superscripts and subscripts of Pandoc.
 */

import type { MarkdownIt, StateBlock, StateInline } from "markdown-it";
import { lineOf, lineThat, noteTitle } from "./block-rules.ts";

/** Characters of a comment, a short code or a formula. */
const MAX_LENGTH = 5_000;
const INTERRUPTS = { alt: ["paragraph", "reference", "blockquote", "list"] };

export function marks(md: MarkdownIt): void {
  md.block.ruler.before("fence", "comment", commentBlock, INTERRUPTS);
  md.block.ruler.before("fence", "formula", formulaBlock, INTERRUPTS);
  md.inline.ruler.before("link", "wiki_link", wikiLink);
  md.inline.ruler.before("escape", "comment", comment);
  md.inline.ruler.before("escape", "short_code", shortCode);
  md.inline.ruler.before("escape", "formula", formula);
  md.inline.ruler.before("escape", "block_id", blockId);
  md.inline.ruler.before("escape", "attributes", attributes);
  md.inline.ruler.before("strikethrough", "highlight", highlight);
  md.inline.ruler.before("strikethrough", "script", script);
}

/** `{: .class target="_blank"}` of kramdown, and `{ .class #id }` of MkDocs, behind a text. */
function attributes(state: StateInline): boolean {
  const { src, pos, posMax } = state;
  if (src[pos] !== "{") return false;
  const [all] =
    /^\{(?::[^{}]*|[ \t]?[.#][\w-][^{}]*)\}/.exec(src.slice(pos, Math.min(posMax, pos + 200))) ??
    [];
  if (all === undefined) return false;
  state.pos = pos + all.length;
  return true;
}

/** `==text==`, whose marks stand beside no letters and enclose no spaces. */
function highlight(state: StateInline, isSilent: boolean): boolean {
  const { src, pos, posMax } = state;
  if (!src.startsWith("==", pos) || /[\w=]/.test(src[pos - 1] ?? "")) return false;
  const [, text] =
    /^==(?![\s=])([^=]+)(?<!\s)==(?![\w=])/.exec(
      src.slice(pos, Math.min(posMax, pos + MAX_LENGTH)),
    ) ?? [];
  if (text === undefined) return false;
  if (!isSilent) inside(state, pos + 2, pos + 2 + text.length);
  state.pos = pos + text.length + 4;
  return true;
}

/** `10^6^` and `H~2~O`. */
function script(state: StateInline, isSilent: boolean): boolean {
  const { src, pos, posMax } = state;
  const mark = src[pos];
  if ((mark !== "^" && mark !== "~") || !/[\p{L}\p{N})]/u.test(src[pos - 1] ?? "")) return false;
  const [all] =
    /^(?:\^[\p{L}\p{N}.,+−-]+\^|~[\p{L}\p{N}.,+−-]+~(?!~))/u.exec(
      src.slice(pos, Math.min(posMax, pos + 50)),
    ) ?? [];
  if (all === undefined) return false;
  if (!isSilent) {
    const name = mark === "^" ? "sup" : "sub";
    state.push(`${name}_open`, name, 1);
    state.push("text", "", 0).content = all.slice(1, -1);
    state.push(`${name}_close`, name, -1);
  }
  state.pos = pos + all.length;
  return true;
}

/** Reads what stands between two marks. */
function inside(state: StateInline, start: number, end: number): void {
  const { posMax } = state;
  [state.pos, state.posMax] = [start, end];
  state.md.inline.tokenize(state);
  state.posMax = posMax;
}

/** ` ^id` at the end of a paragraph, which links of Obsidian name. */
function blockId(state: StateInline, isSilent: boolean): boolean {
  const { src, pos, posMax } = state;
  if (src[pos] !== "^" || !/^$|\s$/.test(src.slice(Math.max(0, pos - 1), pos))) return false;
  if (posMax - pos > 60 || !/^\^[\w-]+\s*$/.test(src.slice(pos, posMax))) return false;
  if (!isSilent) state.push("html_inline", "", 0).content = "";
  state.pos = posMax;
  return true;
}

/** `%%` and `%%`, or `{/*` and `*\/}`, around lines. */
function commentBlock(state: StateBlock, start: number, end: number, isSilent: boolean): boolean {
  const line = lineOf(state, start);
  const isBrace = line === "{" && start + 1 < end && lineOf(state, start + 1).startsWith("/*");
  const close = commentEnd(line) ?? (isBrace ? "}" : undefined);
  if (close === undefined || state.sCount[start]! - state.blkIndent >= 4) return false;
  const isOpen = !line.slice(2).includes(close);
  const last = isOpen ? lineThat((one) => one.endsWith(close), state, start + 1, end) : undefined;
  if (last === undefined) return false;
  if (!isSilent) state.line = last + 1;
  return true;
}

const commentEnd = (line: string): string | undefined =>
  line.startsWith("{/*") ? "*/}" : line.startsWith("%%") ? "%%" : undefined;

/** `$$` and `$$` around lines. */
function formulaBlock(state: StateBlock, start: number, end: number, isSilent: boolean): boolean {
  const line = lineOf(state, start);
  if (!line.startsWith("$$") || state.sCount[start]! - state.blkIndent >= 4) return false;
  const isEnd = (one: string): boolean => one.endsWith("$$");
  const last = line.length > 4 && isEnd(line) ? start : lineThat(isEnd, state, start + 1, end);
  if (last === undefined) return false;
  if (isSilent) return true;
  const token = state.push("html_block", "", 0);
  token.map = [start, last + 1];
  const text = state
    .getLines(start, last + 1, state.blkIndent, false)
    .trim()
    .slice(2, -2);
  token.content = `<p>${state.md.utils.escapeHtml(text)}</p>\n`;
  state.line = last + 1;
  return true;
}

/** `[[Page]]`, `[[Page#Section]]`, `[[Page|shown]]`, and `![[picture.png]]`. */
function wikiLink(state: StateInline, isSilent: boolean): boolean {
  const { src, pos } = state;
  const isEmbedded = src.startsWith("![[", pos);
  if (!isEmbedded && !src.startsWith("[[", pos)) return false;
  const start = pos + (isEmbedded ? 3 : 2);
  const end = src.slice(start, start + 300).indexOf("]]");
  const link = src.slice(start, start + Math.max(0, end));
  if (link.trim() !== link || link === "" || /[[\]\n]/.test(link)) return false;
  if (/^[([]/.test(src.slice(start + end + 2, start + end + 3))) return false; // [[1]](http://…)
  if (!isSilent) {
    const bar = link.indexOf("|");
    const isFile = isEmbedded && /\.\w{2,4}(?:\||$)/.test(link);
    const shown = bar === -1 ? link.replace(/^#/, "").replace(/#\^?/g, " > ") : link.slice(bar + 1);
    if (!isFile) state.push("text", "", 0).content = shown.replace(/\\$/, "");
  }
  state.pos = start + end + 2;
  return true;
}

/** `%%text%%`: the marks stand beside spaces, which those of a batch file do not. */
function comment(state: StateInline, isSilent: boolean): boolean {
  const { src, pos } = state;
  const close = commentEnd(src.slice(pos, pos + 3));
  if (close === undefined) return false;
  const end = src.slice(pos + 2, pos + MAX_LENGTH).indexOf(close);
  const next = pos + 2 + end + close.length;
  if (end === -1) return false;
  if (close === "%%" && (/\w$/.test(src.slice(0, pos).slice(-1)) || /^\w/.test(src[next] ?? "")))
    return false;
  if (!isSilent) state.push("html_inline", "", 0).content = " ";
  state.pos = next;
  return true;
}

const NOTE_NAME = /^(?:note|warning|tip|hint|important|caution|attention|danger|info)$/i;

/** `{{< tab "Linux" >}}`, `{{% note %}}`, `{% hint style="info" %}`: a label is text. */
function shortCode(state: StateInline, isSilent: boolean): boolean {
  const { src, pos } = state;
  const close = ["{{<", ">}}", "{{%", "%}}", "{%", "%}"].find(
    (_, i, all) => i % 2 === 1 && src.startsWith(all[i - 1]!, pos),
  );
  if (close === undefined) return false;
  const end = src.slice(pos, pos + MAX_LENGTH).indexOf(close, 2);
  if (end === -1) return false;
  const code = src.slice(pos, pos + end).replace(/^\{+[<%]-?\s*/, "");
  if (!isSilent) {
    const [, name = ""] = /^([\w-]{1,40})/.exec(code) ?? [];
    const [, named] =
      /\s(?:title|label|name|header|tabName)=["“]([^"”]{1,200})["”]/.exec(code) ?? [];
    const [, first] = /^(?:tab|details|expand|step)\s+"([^"]{1,200})"/.exec(code) ?? [];
    const label = noteTitle(NOTE_NAME.test(name) ? name : "", named ?? first);
    const shown = label === "" ? " " : ` ${state.md.utils.escapeHtml(label)}: `;
    state.push("html_inline", "", 0).content = shown;
  }
  state.pos = pos + end + close.length;
  return true;
}

/** `$a*b$`, whose `*` and `_` are no emphasis. Prices have no marks of a formula. */
function formula(state: StateInline, isSilent: boolean): boolean {
  const { src, pos } = state;
  if (src[pos] !== "$") return false;
  const mark = src[pos + 1] === "$" ? "$$" : "$";
  const start = pos + mark.length;
  const end = src.slice(start, start + MAX_LENGTH).indexOf(mark);
  const text = src.slice(start, start + Math.max(0, end));
  const isFormula = /[\\^_*{}=]/.test(text) && !/\n\s*\n/.test(text);
  const isTight = mark === "$$" || (/^\S/.test(text) && /\S$/.test(text));
  if (!isFormula || !isTight || /^\d/.test(src[start + end + mark.length] ?? "")) return false;
  if (!isSilent) state.push("text", "", 0).content = text;
  state.pos = start + end + mark.length;
  return true;
}
