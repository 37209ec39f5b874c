/** Finds the characters of a passage that an answer comes from: the evidence of an answer. */

import { findSequence } from "./find-sequence.ts";

/** The tokens of DPR's answer matching (Karpukhin et al. 2020). */
const TOKEN_PATTERN = /[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]/gu;
/**
 * A character and its combining marks: the unit that Unicode normalisation rewrites independently.
 * The limit bounds the time of normalisation (see normalize.ts).
 */
const CLUSTER_PATTERN = /\P{M}\p{M}{0,256}|\p{M}{1,256}/gu;

/** The characters [start, end) of a text, in UTF-16 code units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

interface Token extends Span {
  readonly normalized: string;
}

/**
 * Finds the tokens of `answer` in sequence in `text`, regardless of case and spacing. Returns the
 * first exact match of the characters, or else the first match. A match never begins or ends inside
 * a word.
 *
 * Texts are compared in NFKD. (Recall is measured in NFD.) The tokenizer rewrites ﬁ and ² in the
 * same way before the model reads them.
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
  const { normalized, clusters } = decompose(text);
  return Array.from(normalized.matchAll(TOKEN_PATTERN), ({ 0: token, index }) => ({
    normalized: accents ? token.toLowerCase() : token.toLowerCase().replace(/\p{M}/gu, ""),
    start: clusters[index]!.start,
    end: clusters[index + token.length - 1]!.end,
  }));
}

/**
 * Converts a text to NFKD. `clusters` gives the original characters of each code unit of the
 * result.
 */
function decompose(text: string): { normalized: string; clusters: Span[] } {
  let normalized = "";
  const clusters: Span[] = [];
  for (const { 0: cluster, index } of text.matchAll(CLUSTER_PATTERN)) {
    const decomposed = cluster.normalize("NFKD");
    const span = { start: index, end: index + cluster.length };
    for (let unit = 0; unit < decomposed.length; unit++) clusters.push(span);
    normalized += decomposed;
  }
  return { normalized, clusters };
}
