/**
 * Windows of a passage that is longer than the model reads at once: whole sentences, with the title
 * of the passage. A short last sentence of a window also begins the next one, so that what stands
 * at an edge is read with its neighbours.
 *
 * Source: Devlin et al. 2019 (BERT), whose reader slides over SQuAD's paragraphs with a stride.
 */

import type { PassageInput } from "../passage.ts";
import { sentences } from "../sentences.ts";
import type { Span } from "../span.ts";
import { passageIds, passagePrompt, tokensOver } from "./prompts.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** A part of a passage with the title of the passage. */
export interface PassageWindow {
  readonly title: string;
  readonly text: string;
  /** Where its text begins in the text of the passage. */
  readonly start: number;
}

/** The share of a window that a title may take; a longer one loses its end. */
const MAX_TITLE = 1 / 2;
/** The share of a window that the last sentence of the window before it may take. */
const MAX_OVERLAP = 1 / 4;
/** Windows of fewer tokens say nothing. */
const MIN_ROOM = 8;

/**
 * The windows of a passage in their order: one with all of its text if it has at most `maxTokens`
 * tokens.
 *
 * @param maxTokens of a window with its prompt and `</s>`
 */
export function windowsOf(
  tokenizer: Tokenizer,
  { title = "", text }: Pick<PassageInput, "title" | "text">,
  maxTokens: number,
): PassageWindow[] {
  const whole = [{ title, text, start: 0 }];
  if (
    tokenizer.encode(passagePrompt({ title, text }, tokenizer.prompts), maxTokens).length <
    maxTokens
  )
    return whole;
  const count = (some: string): number => tokenizer.encode(some).length;
  const short = shortened(title, MAX_TITLE * maxTokens, count);
  const room = maxTokens - count(passagePrompt({ title: short, text: "" }, tokenizer.prompts)) - 1;
  if (room < MIN_ROOM) return whole;
  const parts = sentences(text).flatMap((sentence) =>
    partsOf(sentence, room, ({ start, end }) => count(text.slice(start, end)), text),
  );
  const windows = packed(parts, room).map(({ start, end }) => {
    return { title: short, text: text.slice(start, end), start };
  });
  return windows.length > 0 ? windows : whole; // a title alone
}

/** A window of a passage with its token ids, as they are indexed. */
export interface TokenizedWindow {
  readonly window: PassageWindow;
  readonly ids: readonly number[];
}

/** Tokens that a model reads at once, and that a passage of an index has at most by default. */
const READ_AT_ONCE = 512;

/**
 * The windows of a passage with their token ids, each with its prompt and `</s>`. A limit below
 * what a model reads at once cuts, as in the authors' release.
 */
export function tokenizedWindows(
  tokenizer: Tokenizer,
  { title = "", text }: Pick<PassageInput, "title" | "text">,
  maxTokens: number,
): TokenizedWindow[] {
  const ids = passageIds(tokenizer, { title, text }, maxTokens);
  if (ids.length < maxTokens || maxTokens < READ_AT_ONCE)
    return [{ window: { title, text, start: 0 }, ids }];
  return windowsOf(tokenizer, { title, text }, maxTokens).map((window) => ({
    window,
    ids: passageIds(tokenizer, window, maxTokens),
  }));
}

/** The number of a passage's tokens that stand in none of its windows. */
export function tokensOutside(
  tokenizer: Tokenizer,
  { title = "", text }: Pick<PassageInput, "title" | "text">,
  maxTokens: number,
): number {
  if (maxTokens < READ_AT_ONCE) return tokensOver(tokenizer, { title, text }, maxTokens);
  const windows = windowsOf(tokenizer, { title, text }, maxTokens);
  const lost = tokenizer.encode(title.slice(windows[0]!.title.length)).length;
  return windows.reduce((sum, window) => sum + tokensOver(tokenizer, window, maxTokens), lost);
}

/** The words of a title for which there is room. */
function shortened(title: string, room: number, count: (text: string) => number): string {
  let short = title;
  while (count(short) > room)
    short = short.slice(0, middleOf({ start: 0, end: short.length }, short));
  return short;
}

interface Part extends Span {
  readonly tokens: number;
}

/** A sentence, or its halves, quarters and so on if it has more tokens than there is room for. */
function partsOf(span: Span, room: number, count: (span: Span) => number, text: string): Part[] {
  const tokens = count(span);
  if (tokens <= room || span.end - span.start < 2) return [{ ...span, tokens }];
  const middle = middleOf(span, text);
  return [
    { start: span.start, end: middle },
    { start: middle, end: span.end },
  ].flatMap((half) => partsOf(half, room, count, text));
}

/** A space near the middle of a span, else its middle, between two characters. */
function middleOf({ start, end }: Span, text: string): number {
  const middle = (start + end) >> 1;
  const space = text.indexOf(" ", middle);
  if (space !== -1 && space < end - 1) return space + 1;
  const isInsidePair = /^[\udc00-\udfff]/.test(text.slice(middle, middle + 1));
  return isInsidePair && middle + 1 < end ? middle + 1 : middle;
}

/** As many parts in a row as there is room for. */
function packed(parts: readonly Part[], room: number): Span[] {
  const windows: Span[] = [];
  let own: Part[] = [];
  let tokens = 0;
  const close = () => {
    if (own.length > 0) windows.push({ start: own[0]!.start, end: own.at(-1)!.end });
  };
  for (const part of parts) {
    if (tokens + part.tokens > room) {
      close();
      const last = own.at(-1);
      const isRepeated =
        last && own.length > 1 && last.tokens <= Math.min(MAX_OVERLAP * room, room - part.tokens);
      own = isRepeated ? [last] : [];
      tokens = isRepeated ? last.tokens : 0;
    }
    own.push(part);
    tokens += part.tokens;
  }
  close();
  return windows;
}
