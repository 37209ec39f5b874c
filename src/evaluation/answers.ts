/**
 * Measures of single answers: exact match and F1 of SQuAD, and the answer match of DPR.
 *
 * Sources: Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions for Machine Comprehension of Text",
 * section 6.1, and the evaluation script of SQuAD 2.0; Karpukhin et al. 2020, "Dense Passage
 * Retrieval for Open-Domain Question Answering", top-k retrieval accuracy.
 */

/**
 * Normalises an answer as SQuAD does: lower case, no ASCII punctuation, no articles, single spaces.
 */
export function normalizeAnswer(answer: string): string {
  return answer
    .toLowerCase()
    .replace(/[!-/:-@[-`{-~]/g, "")
    .replace(/(?<![\p{L}\p{N}])(?:a|an|the)(?![\p{L}\p{N}])/gu, " ")
    .trim()
    .replace(/\s+/g, " ");
}

/** Exact match (EM): whether the normalised answer equals a normalised accepted answer. */
export function exactMatch(answer: string, accepted: readonly string[]): boolean {
  const normalized = normalizeAnswer(answer);
  return accepted.some((other) => normalizeAnswer(other) === normalized);
}

/**
 * The highest F1 over the accepted answers. With the bags of words A and B of two normalised
 * answers:
 *
 *     F1 = 2 |A ∩ B| / (|A| + |B|)
 *
 * which is the harmonic mean of precision and recall of the words. F1 of two empty answers is 1.
 */
export function f1(answer: string, accepted: readonly string[]): number {
  const words = normalizeAnswer(answer).split(" ");
  return Math.max(0, ...accepted.map((other) => wordF1(words, normalizeAnswer(other).split(" "))));
}

function wordF1(a: readonly string[], b: readonly string[]): number {
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

/**
 * Whether the tokens of an accepted answer occur in sequence in the text, regardless of case (DPR's
 * match).
 */
export function containsAnswer(text: string, accepted: readonly string[]): boolean {
  const haystack = matchForm(text);
  return accepted.some((answer) => {
    const needle = matchForm(answer);
    return needle.trim() !== "" && haystack.includes(needle);
  });
}

/**
 * The tokens of a text as DPR's match compares them, each between spaces. A text contains an answer
 * if its form includes that of the answer, and the answer has a token. To check many answers, make
 * the form of the text once.
 */
export const matchForm = (text: string): string => ` ${tokenize(text).join(" ")} `;

const tokenize = (text: string): string[] =>
  text
    .normalize("NFD")
    .toLowerCase()
    .match(/[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]/gu) ?? [];
