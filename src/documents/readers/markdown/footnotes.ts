/**
 * Footnotes stand at the end of the section that refers to them, with their number, and not at the
 * end of the file, below a heading that they have nothing to do with.
 */

import type { Env, MarkdownIt, StateCore, Token } from "markdown-it";
import plugin from "markdown-it-footnote";
import { append } from "../../../math/append.ts";

/** What the plugin knows of the notes of a file, whose parts are parsed one after the other. */
interface Footnotes {
  /** The number of each label, with a colon before it; -1 for a note that nothing refers to. */
  readonly refs?: Readonly<Record<string, number>>;
  /** The notes that are referred to. One that stands in the text itself has tokens and no label. */
  readonly list?: readonly {
    readonly label?: string;
    readonly tokens?: Token[];
    readonly content?: string;
  }[];
  /** How many notes of the list were placed in the parts before. */
  placed?: number;
}

export function footnotes(md: MarkdownIt): void {
  md.use(plugin);
  md.core.ruler.at("footnote_tail", placeNotes); // the plugin's copies all tokens for each note
  md.renderer.rules.footnote_open = (tokens, i) =>
    `<li value="${numberOf(tokens[i]!) + 1}" class="footnote-item">`;
}

function placeNotes(state: StateCore): void {
  const { footnotes } = state.env as Env & { footnotes?: Footnotes };
  if (!footnotes) return;
  const { refs = {}, list = [], placed = 0 } = footnotes;
  const { text, notes } = withoutNotes(state.tokens, refs);
  const items = new Map<number, readonly Token[]>();
  for (let number = placed; number < list.length; number++) {
    const { label, tokens = [], content = "" } = list[number]!;
    const own = label === undefined ? paragraphOf(state, tokens, content) : notes.get(label);
    if (own) items.set(number, itemOf(state, number, own));
  }
  state.tokens = withItems(state, text, items);
  footnotes.placed = list.length;
}

/** The tokens of each note, by its label. One that nothing refers to is text where it stands. */
function withoutNotes(
  tokens: readonly Token[],
  refs: NonNullable<Footnotes["refs"]>,
): { text: readonly Token[]; notes: ReadonlyMap<string, readonly Token[]> } {
  const text: Token[] = [];
  const notes = new Map<string, Token[]>();
  const open = [text];
  for (const token of tokens) {
    const around = open.at(-1)!;
    if (token.type === "footnote_reference_open") {
      const { label } = token.meta as { label: string };
      const isUsed = (refs[`:${label}`] ?? -1) >= 0;
      const own = isUsed ? [] : around;
      if (isUsed) notes.set(label, own);
      open.push(own);
    } else if (token.type === "footnote_reference_close") open.pop();
    else around.push(token);
  }
  return { text, notes };
}

function paragraphOf({ Token }: StateCore, children: Token[], content: string): readonly Token[] {
  const [open, inline, close] = [
    new Token("paragraph_open", "p", 1),
    new Token("inline", "", 0),
    new Token("paragraph_close", "p", -1),
  ];
  open.block = close.block = true;
  Object.assign(inline, { children, content });
  return [open, inline, close];
}

function itemOf({ Token }: StateCore, id: number, contents: readonly Token[]): readonly Token[] {
  const open = new Token("footnote_open", "", 1);
  open.meta = { id };
  return [open, ...contents, new Token("footnote_close", "", -1)];
}

/** The text with the items of each section at its end. */
function withItems(
  { Token }: StateCore,
  text: readonly Token[],
  items: Map<number, readonly Token[]>,
): Token[] {
  const tokens: Token[] = [];
  let section: Token[] = [];
  const place = (number: number): void => {
    append(section, items.get(number) ?? []);
    items.delete(number);
  };
  const endSection = (): void => {
    if (section.length === 0) return;
    tokens.push(new Token("footnote_block_open", "", 1));
    append(tokens, section);
    tokens.push(new Token("footnote_block_close", "", -1));
    section = [];
  };
  for (const token of text) {
    if (token.type === "heading_open" && token.level === 0) endSection();
    tokens.push(token);
    for (const child of token.children ?? [])
      if (child.type === "footnote_ref") place(numberOf(child));
  }
  for (const number of items.keys()) place(number); // that other notes refer to
  endSection();
  return tokens;
}

const numberOf = ({ meta }: Token): number => (meta as { id: number }).id;
