/** Which words of a question the passages have that a search may return. */

import type { WordSearch } from "../search/word-search.ts";

/** Other ways to write a word: 5.0 as v5.0, utf8 as UTF-8. */
const formsOf = (word: string): string[] => [
  word,
  ...(/^\p{N}/u.test(word) ? [`v${word}`] : []),
  ...(/\p{L}\p{N}/u.test(word) ? [word.replace(/(?<=\p{L})(?=\p{N})/gu, "-")] : []),
];

/**
 * The words that stand in some passage. Undefined where words cannot be looked up, as in a store.
 *
 * @param accept whether a search may return a passage. Default: every passage
 */
export async function knownWords(
  words: readonly string[],
  { analyser, having }: Pick<WordSearch, "analyser" | "having">,
  accept?: (ordinal: number) => boolean,
): Promise<ReadonlySet<string> | undefined> {
  if (!having) return undefined;
  const isKnown = async (word: string): Promise<boolean> => {
    const terms = analyser.terms(word);
    if (terms.length === 0) return true;
    const ordinals = await having(terms);
    return accept ? ordinals.some(accept) : ordinals.length > 0;
  };
  const known = new Set<string>();
  for (const word of words)
    for (const form of formsOf(word))
      if (await isKnown(form)) {
        known.add(word);
        break;
      }
  return known;
}
