/** Finds the characters of a passage that an answer comes from: the evidence of an answer. */

import { findSequence } from "./find-sequence.ts";
import { normalForm, rewrite } from "./normal-form.ts";
import type { Span } from "./span.ts";

/** The tokens of DPR's answer matching (Karpukhin et al. 2020). */
const TOKEN_PATTERN = /[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]/gu;

interface Token extends Span {
  readonly normalized: string;
}

/**
 * Finds the tokens of `answer` in sequence in `text`, regardless of case and spacing. Returns the
 * first exact match of the characters, or else the first match. A match never begins or ends inside
 * a word.
 *
 * Texts are compared in their normal form (normal-form.ts). Recall is measured in NFD.
 *
 * @param options.accents whether they must match. Default true
 */
export function findAnswerSpan(
  answer: string,
  text: string,
  { accents = true }: { readonly accents?: boolean } = {},
): Span | undefined {
  const wanted = tokenize(answer, accents).map((token) => token.normalized);
  if (wanted.length === 0) return undefined;
  const tokens = tokenize(text, accents);
  const normalized = tokens.map((token) => token.normalized);
  let found: Span | undefined;
  for (const first of findSequence(normalized, wanted)) {
    const span = { start: tokens[first]!.start, end: tokens[first + wanted.length - 1]!.end };
    if (text.slice(span.start, span.end) === answer.trim()) return span;
    found ??= span;
  }
  return found;
}

function tokenize(text: string, accents: boolean): Token[] {
  const { text: normalized, spans } = rewrite(text, normalForm);
  return Array.from(normalized.matchAll(TOKEN_PATTERN), ({ 0: token, index }) => ({
    normalized: accents ? token : token.replace(/\p{M}/gu, ""),
    start: spans[index]!.start,
    end: spans[index + token.length - 1]!.end,
  }));
}
