/**
 * Footnotes stand at the end of the section that refers to them, with their number, and not at the
 * end of the file, below a heading that they have nothing to do with.
 */

import type { Env, MarkdownIt, StateCore, Token } from "markdown-it";
import plugin from "markdown-it-footnote";

export function footnotes(md: MarkdownIt): void {
  md.use(plugin);
  md.core.ruler.before("footnote_tail", "footnotes_without_reference", keepUnreferenced);
  md.core.ruler.after("footnote_tail", "footnotes_in_sections", moveToSections);
  md.renderer.rules.footnote_open = (tokens, i) =>
    `<li value="${numberOf(tokens[i]!) + 1}" class="footnote-item">`;
}

/** The plugin leaves out a note that nothing refers to. It is text where it stands. */
function keepUnreferenced(state: StateCore): void {
  const env = state.env as Env & { footnotes?: { refs?: Record<string, number> } };
  const refs: Record<string, number> = env.footnotes?.refs ?? {};
  const open: boolean[] = [];
  state.tokens = state.tokens.filter((token) => {
    if (token.type === "footnote_reference_open")
      open.push((refs[`:${(token.meta as { label: string }).label}`] ?? -1) < 0);
    else if (token.type !== "footnote_reference_close") return true;
    else return !open.pop();
    return !open.at(-1);
  });
}

function moveToSections(state: StateCore): void {
  const begin = state.tokens.findIndex(({ type }) => type === "footnote_block_open");
  if (begin === -1) return;
  const [blockOpen, ...rest] = state.tokens.slice(begin);
  const blockClose = rest.pop()!;
  const notes = notesOf(rest);
  const tokens: Token[] = [];
  let section: Token[] = []; // the notes of the section
  const endSection = (): void => {
    if (section.length > 0) tokens.push(blockOpen!, ...section, blockClose);
    section = [];
  };
  for (const token of state.tokens.slice(0, begin)) {
    if (token.type === "heading_open" && token.level === 0) endSection();
    tokens.push(token);
    for (const child of token.children ?? [])
      if (child.type === "footnote_ref") {
        const number = numberOf(child);
        section.push(...(notes.get(number) ?? []));
        notes.delete(number);
      }
  }
  for (const note of notes.values()) section.push(...note); // that other notes refer to
  endSection();
  state.tokens = tokens;
}

/** The tokens of each note, by its number. */
function notesOf(tokens: readonly Token[]): Map<number, Token[]> {
  const notes = new Map<number, Token[]>();
  let note: Token[] = [];
  for (const token of tokens) {
    if (token.type === "footnote_open") {
      note = [];
      notes.set(numberOf(token), note);
    }
    note.push(token);
  }
  return notes;
}

const numberOf = ({ meta }: Token): number => (meta as { id: number }).id;
