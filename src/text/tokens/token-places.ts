/** Where the tokens of a passage stand in it, and which of them can bound a quotation. */

import { partsOf } from "../cells.ts";
import { cutsOf } from "../expressions.ts";
import type { Passage, PassageInput } from "../passage.ts";
import type { Span } from "../span.ts";
import { passagePrompt, placesInPrompt } from "./prompts.ts";
import { tokenSpans } from "./token-spans.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { TokenizedWindow } from "./windows.ts";

/** A token of the title or the text of a passage. */
export interface TokenPlace {
  readonly field: "title" | "text";
  /** A quotation stays in one part: -1 is the title, others are cells and what is around tables. */
  readonly part: number;
  /** The characters of the field. */
  readonly span: Span;
  /** The words of the field, divided by white space, in which the token begins and ends. */
  readonly words: { readonly first: number; readonly last: number };
  /** Whether a quotation can begin with the token: it does not begin inside an expression. */
  readonly begins: boolean;
  /** Whether a quotation can end with the token: it does not end inside an expression. */
  readonly ends: boolean;
}

/**
 * The place of each token; undefined for a token of the prompt, and for one whose characters cannot
 * be told.
 *
 * @param ids the first token ids of the passage, as they are indexed or read
 */
export function tokenPlaces(
  tokenizer: Tokenizer,
  passage: Pick<PassageInput, "title" | "text">,
  ids: readonly number[],
): (TokenPlace | undefined)[] {
  const { title = "", text } = passage;
  const spanOf = placesInPrompt(passage, false, tokenizer.prompts);
  const fields = { title: placesIn("title", title), text: placesIn("text", text) };
  return tokenSpans(tokenizer, passagePrompt(passage, tokenizer.prompts), ids).map((inPrompt) => {
    const place = inPrompt && spanOf(inPrompt);
    if (!place) return undefined;
    const { field, span } = place;
    // A token that has characters of the prompt, too, is not a token of the field.
    const isWhole = span.end - span.start === inPrompt.end - inPrompt.start;
    return isWhole ? fields[field](span) : undefined;
  });
}

/** The places of the tokens of the text alone. */
export const textPlaces = (
  tokenizer: Tokenizer,
  passage: Pick<Passage, "title" | "text">,
  ids: readonly number[],
): (TokenPlace | undefined)[] =>
  tokenPlaces(tokenizer, passage, ids).map((place) =>
    place?.field === "text" ? place : undefined,
  );

/**
 * The places in the text of a passage of the tokens of all of its windows.
 *
 * @param kept the positions among all tokens of those that have keys; undefined if all have
 */
export function windowPlaces(
  tokenizer: Tokenizer,
  text: string,
  windows: readonly TokenizedWindow[],
  kept: readonly number[] | undefined,
): (TokenPlace | undefined)[] {
  let parts = 0;
  const places = windows.flatMap(({ window, ids }) => {
    const { start } = window;
    const own = textPlaces(tokenizer, window, ids);
    const words = start === 0 ? 0 : (text.slice(0, start).match(/\S+/g)?.length ?? 0);
    const moved = own.map((place) => place && movedBy(place, { start, words, part: parts }));
    parts += 1 + Math.max(0, ...own.map((place) => place?.part ?? 0));
    return moved;
  });
  return kept ? kept.map((position) => places[position]) : places;
}

const movedBy = (
  { span, words, part, ...place }: TokenPlace,
  by: { readonly start: number; readonly words: number; readonly part: number },
): TokenPlace => ({
  ...place,
  part: part + by.part,
  span: { start: span.start + by.start, end: span.end + by.start },
  words: { first: words.first + by.words, last: words.last + by.words },
});

/** Gives the place of a token in a field. */
function placesIn(field: TokenPlace["field"], text: string): (span: Span) => TokenPlace {
  const canCut = cutsOf(text);
  const partAt = field === "text" ? partsOf(text) : () => -1;
  const wordStarts = Array.from(text.matchAll(/\S+/g), ({ index }) => index);
  let word = 0;
  const wordAt = (position: number): number => {
    while (word > 0 && wordStarts[word]! > position) word--;
    while (word + 1 < wordStarts.length && wordStarts[word + 1]! <= position) word++;
    return word;
  };
  return (span) => ({
    field,
    part: partAt(span.start),
    span,
    words: { first: wordAt(span.start), last: wordAt(span.end - 1) },
    begins: canCut(span.start),
    ends: canCut(span.end),
  });
}
