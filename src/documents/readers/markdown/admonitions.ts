/**
 * Notes and tabs: `!!! note` and `=== "Tab"` of MkDocs, `:::note` of Docusaurus and VitePress,
 * `> [!NOTE]` of GitHub and Obsidian. Their titles are blocks of the kind `note`, or `term`.
 */

import type { MarkdownIt, StateBlock, StateCore } from "markdown-it";
import { leadHtml, lineOf, noteTitle } from "./block-rules.ts";

const INTERRUPTS = { alt: ["paragraph", "reference", "blockquote", "list"] };

export function admonitions(md: MarkdownIt): void {
  md.block.ruler.before("paragraph", "container", containerMark, INTERRUPTS);
  md.block.ruler.before("fence", "admonition", indentedNote, INTERRUPTS);
  md.core.ruler.after("block", "callouts", callouts);
}

/** The lines `:::note Title` and `:::` around a note. */
function containerMark(state: StateBlock, start: number, _: number, isSilent: boolean): boolean {
  const line = lineOf(state, start);
  if (!line.startsWith(":::")) return false;
  const [, name, , title = ""] =
    /^:{3,}\s?(?:\{?\.?([\w-]{1,40})\}?((?:\s|(?=[[{]))(.*))?)?$/.exec(line) ?? [];
  if (name === undefined && !/^:+$/.test(line)) return false;
  if (isSilent) return true;
  state.line = start + 1;
  if (name === undefined) return true;
  const [, own = title] = /^\[(.*)\]/.exec(title) ?? [];
  const token = state.push("html_block", "", 0);
  token.map = [start, start + 1];
  token.content = leadHtml(state, "note", noteTitle(name, withoutAttributes(own)));
  return true;
}

/** `Title {.class}` without what stands in braces at its end. */
const withoutAttributes = (title: string): string =>
  title.endsWith("}") && title.includes("{") ? title.slice(0, title.indexOf("{")) : title;

/** `!!! note "Title"`, `???+ note` or `=== "Tab"`, and the lines below it that are indented. */
function indentedNote(state: StateBlock, start: number, end: number, isSilent: boolean): boolean {
  if (state.sCount[start]! - state.blkIndent >= 4) return false;
  const [, mark, name = "", title] =
    /^(!!!|\?\?\?\+?|===[!+]?)(?:[ \t]{1,9}([\w-]{1,40})[\w -]{0,80})?(?:[ \t]{1,9}"(.*)")?$/.exec(
      lineOf(state, start),
    ) ?? [];
  const isTab = mark?.startsWith("===") ?? false;
  if (mark === undefined || (isTab ? name !== "" || !title : name === "")) return false;
  if (isSilent) return true;
  const token = state.push("html_block", "", 0);
  token.map = [start, start + 1];
  token.content = leadHtml(state, isTab ? "term" : "note", noteTitle(isTab ? "" : name, title));
  let last = start + 1;
  const indent = state.blkIndent + 4;
  while (last < end && (state.isEmpty(last) || state.sCount[last]! >= indent)) last++;
  state.line = start + 1;
  state.blkIndent = indent;
  if (last > start + 1) state.md.block.tokenize(state, start + 1, last);
  state.blkIndent = indent - 4;
  return true;
}

/** `[!NOTE]` or `[!info]- Title` at the beginning of a quotation. */
function callouts(state: StateCore): void {
  state.tokens = state.tokens.flatMap((token, i, tokens) => {
    const inline = tokens[i + 1];
    const isFirst = token.type === "paragraph_open" && tokens[i - 1]?.type === "blockquote_open";
    const [all, name, title] =
      (isFirst && /^\[!([\w-]{1,20})\][+-]?([^\n]*)\n?/.exec(inline!.content)) || [];
    if (all === undefined) return [token];
    const lead = new state.Token("html_block", "", 0);
    const [from = 0, to = 0] = token.map ?? [];
    lead.map = [from, from + 1];
    lead.content = leadHtml(state, "note", noteTitle(name!, title));
    inline!.content = inline!.content.slice(all.length);
    inline!.map = token.map = [Math.min(from + 1, to - 1), to];
    return [lead, token];
  });
}
