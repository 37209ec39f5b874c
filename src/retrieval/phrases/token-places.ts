/** Where the token keys of a passage stand in its text, and which of them can bound a phrase. */

import type { Passage } from "../../text/passage.ts";
import { passagePrompt } from "../../text/prompts.ts";
import type { Span } from "../../text/span.ts";
import { tokenSpans } from "../../text/token-spans.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";

/** A token of the text of a passage. */
export interface TokenPlace {
  /** The characters of the text. */
  readonly span: Span;
  /** The words of the text, divided by white space, in which the token begins and ends. */
  readonly words: { readonly first: number; readonly last: number };
  /** Whether a phrase can begin with the token: it does not begin inside a word. */
  readonly begins: boolean;
  /** Whether a phrase can end with the token: it does not end inside a word. */
  readonly ends: boolean;
}

/**
 * The place of each token key; undefined for a token of the prompt or the title, and for one whose
 * characters cannot be told.
 *
 * @param ids the token ids of the passage as it was indexed
 * @param kept the position among `ids` of each token key; undefined if all tokens have one
 */
export function tokenPlaces(
  tokenizer: Tokenizer,
  passage: Pick<Passage, "title" | "text">,
  ids: readonly number[],
  kept?: readonly number[],
): (TokenPlace | undefined)[] {
  const { text } = passage;
  const prompt = passagePrompt(passage);
  const textStart = prompt.length - text.length;
  const wordStarts = Array.from(text.matchAll(/\S+/g), ({ index }) => index);
  let word = 0;
  const places = tokenSpans(tokenizer, prompt, ids).map((inPrompt): TokenPlace | undefined => {
    if (!inPrompt || inPrompt.start < textStart || inPrompt.end <= inPrompt.start) return undefined;
    const span = { start: inPrompt.start - textStart, end: inPrompt.end - textStart };
    const wordAt = (position: number): number => {
      while (word > 0 && wordStarts[word]! > position) word--;
      while (word + 1 < wordStarts.length && wordStarts[word + 1]! <= position) word++;
      return word;
    };
    return {
      span,
      words: { first: wordAt(span.start), last: wordAt(span.end - 1) },
      begins: !isInsideWord(text, span.start),
      ends: !isInsideWord(text, span.end),
    };
  });
  return kept ? kept.map((position) => places[position]) : places;
}

const INSIDE = /^[\p{L}\p{N}\p{M}]{2}$/u;

/** Whether letters or digits stand on both sides of a position. */
const isInsideWord = (text: string, position: number): boolean =>
  position > 0 && INSIDE.test(text.slice(position - 1, position + 1));
