/** Words of a text as keys for comparison, without case, punctuation and character width. */

import { normalizeText } from "../../text/normalize.ts";
import type { Extent } from "../../text/sentences.ts";

export interface Token extends Extent {
  readonly key: string;
}

const RUN = /[\p{L}\p{M}\p{N}]+/gu;
const SEPARATORS = /[^\p{L}\p{M}\p{N}]+/gu;
/** Scripts without spaces between words: each character is a token. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]\p{M}*|[^\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu;

/** The tokens of `text`, in order. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const add = (start: number, token: string) =>
    tokens.push({ start, end: start + token.length, key: normalized(token) });
  for (const { index, 0: run } of text.matchAll(RUN)) {
    if (/^[\p{sc=Latin}\p{Nd}]+$/u.test(run)) add(index, run);
    else for (const part of run.matchAll(UNSPACED)) add(index + part.index, part[0]);
  }
  return tokens;
}

export function keysOf(tokens: readonly Token[]): string[] {
  return tokens.map((token) => token.key);
}

/** The letters and digits of `text` without what separates them: "US" for "U.S.". */
export function lettersOf(text: string): string {
  return normalized(text).replace(SEPARATORS, "");
}

function normalized(text: string): string {
  return normalizeText(text, "NFKC").toLowerCase();
}
