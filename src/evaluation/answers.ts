/**
 * Measures of answers. Sources: exact match and F1 of SQuAD (Rajpurkar et al. 2016, and the evaluation script of version 2.0);
 * recall by answer of ORQA and DPR (Karpukhin et al. 2020, top-k retrieval accuracy).
 */

/** Of what SQuAD compares: lower case, no ASCII punctuation, no articles, single spaces. */
export function normalizeAnswer(answer: string): string {
  return answer
    .toLowerCase()
    .replace(/[!-/:-@[-`{-~]/g, "")
    .replace(/(?<![\p{L}\p{N}])(?:a|an|the)(?![\p{L}\p{N}])/gu, " ")
    .trim()
    .replace(/\s+/g, " ");
}

/** Whether the answer is one of the accepted ones, both normalised. */
export function exactMatch(answer: string, accepted: readonly string[]): boolean {
  const normalized = normalizeAnswer(answer);
  return accepted.some((other) => normalizeAnswer(other) === normalized);
}

/**
 * The best F1 over the accepted answers, words counted as often as both have them:
 * `2 common / (words of one + words of the other)`. Two answers without words are equal.
 */
export function f1(answer: string, accepted: readonly string[]): number {
  const words = normalizeAnswer(answer).split(" ");
  return Math.max(0, ...accepted.map((other) => overlap(words, normalizeAnswer(other).split(" "))));
}

function overlap(a: readonly string[], b: readonly string[]): number {
  const unmatched = [...b];
  let common = 0;
  for (const word of a) {
    const at = unmatched.indexOf(word);
    if (at < 0) continue;
    unmatched.splice(at, 1);
    common++;
  }
  return (2 * common) / (a.length + b.length);
}

/** Whether the words of an accepted answer occur in the text in sequence, whatever their case: DPR's match. */
export function containsAnswer(text: string, accepted: readonly string[]): boolean {
  const haystack = tokenize(text);
  return accepted.some((answer) => {
    const needle = tokenize(answer);
    return (
      needle.length > 0 &&
      haystack.some((_, start) => needle.every((token, i) => haystack[start + i] === token))
    );
  });
}

const tokenize = (text: string): string[] =>
  text
    .normalize("NFD")
    .toLowerCase()
    .match(/[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]/gu) ?? [];
