/** Where an answer stands in a passage: the evidence that is shown to people. */

/** The tokens by which answers are looked for in passages (Karpukhin et al. 2020, and the ORQA and DPR code before it). */
const TOKEN_PATTERN = /[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]/gu;
/** A character and the marks on it: what a normalisation form rewrites without a look at its neighbours. */
const CLUSTER_PATTERN = /\P{M}\p{M}*|\p{M}+/gu;

/** Characters [start, end) of a text, in UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

interface Token extends Span {
  readonly normalized: string;
}

/**
 * The earliest place where the tokens of `answer` stand one after the other in `text`, whatever their case and spacing; a place
 * where it stands letter for letter goes before. Never inside a word. Offsets are those of `text` as given.
 *
 * Texts are compared in NFKD, not NFD as recall is measured, for the tokenizer has rewritten ﬁ and ² before the model reads them.
 */
export function findAnswerSpan(answer: string, text: string): Span | undefined {
  const wanted = tokenize(answer).map((token) => token.normalized);
  if (wanted.length === 0) return undefined;
  const tokens = tokenize(text);
  let found: Span | undefined;
  for (let first = 0; first + wanted.length <= tokens.length; first++) {
    if (!wanted.every((token, index) => tokens[first + index]!.normalized === token)) continue;
    const span = { start: tokens[first]!.start, end: tokens[first + wanted.length - 1]!.end };
    if (text.slice(span.start, span.end) === answer.trim()) return span;
    found ??= span;
  }
  return found;
}

function tokenize(text: string): Token[] {
  const { normalized, clusters } = decompose(text);
  return Array.from(normalized.matchAll(TOKEN_PATTERN), ({ 0: token, index }) => ({
    normalized: token.toLowerCase(),
    start: clusters[index]!.start,
    end: clusters[index + token.length - 1]!.end,
  }));
}

/** NFKD, and for each of its units the cluster of the original that it comes from. */
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
