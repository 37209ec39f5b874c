/** Words of any text as keys for comparison: without case, punctuation and width. */

import type { Extent } from "./sentences.ts";

export interface Token extends Extent {
  readonly key: string;
}

/** Scripts without spaces between words: each character is a token. */
const UNSPACED = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]`;
const TOKEN = new RegExp(String.raw`${UNSPACED}\p{M}*|(?:(?!${UNSPACED})[\p{L}\p{M}\p{N}])+`, "gu");

/** The tokens of `text`, in order. */
export function tokensOf(text: string): Token[] {
  return Array.from(text.matchAll(TOKEN), ({ index, 0: match }) => ({
    start: index,
    end: index + match.length,
    key: match.normalize("NFKC").toLowerCase(),
  }));
}

export function keysOf(tokens: readonly Token[]): string[] {
  return tokens.map((token) => token.key);
}
