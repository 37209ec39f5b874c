/** What block rules of dialects share: the lines of a text, and the titles of notes and tabs. */

import type { StateBlock } from "markdown-it";

/** Lines of a comment or a formula. */
const MAX_LINES = 1_000;

export const lineOf = (state: StateBlock, line: number): string =>
  state.src.slice(state.bMarks[line]! + state.tShift[line]!, state.eMarks[line]).trimEnd();

/** The first line from `start` on that is the end of something; undefined if there is none. */
export function lineThat(
  isEnd: (line: string) => boolean,
  state: StateBlock,
  start: number,
  end: number,
): number | undefined {
  for (let line = start; line < Math.min(end, start + MAX_LINES); line++)
    if (isEnd(lineOf(state, line))) return line;
  return undefined;
}

/** The title of a note, or the name of a tab, which belongs to what follows. */
export const leadHtml = (
  state: Pick<StateBlock, "md">,
  kind: "note" | "term",
  text: string,
): string => `<p data-kind="${kind}">${state.md.utils.escapeHtml(text)}</p>\n`;

/** `warning` and `Before you start` as `Warning: Before you start`. */
export const noteTitle = (name: string, title = ""): string =>
  [capitalised(name), title.trim()].filter((part) => part !== "").join(": ");

const capitalised = (word: string): string =>
  word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase();
