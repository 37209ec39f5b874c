/** Which words of a question the passages have that a search may return. */

import type { RankRequest } from "../rank.ts";
import type { IndexGeneration } from "../search/generation.ts";

/** Other ways to write a word: 5.0 as v5.0, utf8 as UTF-8. */
const formsOf = (word: string): string[] => [
  word,
  ...(/^\p{N}/u.test(word) ? [`v${word}`] : []),
  ...(/\p{L}\p{N}/u.test(word) ? [word.replace(/(?<=\p{L})(?=\p{N})/gu, "-")] : []),
];

/**
 * The words that stand in some passage that a search may return. Undefined for an index whose words
 * cannot be looked up: that of a store, or one without words.
 */
export async function knownWords(
  index: IndexGeneration,
  words: readonly string[],
  { filter, where, hybrid }: Pick<RankRequest, "filter" | "where" | "hybrid">,
): Promise<ReadonlySet<string> | undefined> {
  if (words.length === 0) return new Set();
  const search = index.isRemote ? undefined : (hybrid?.lexical?.bm25 ?? (await index.words()));
  const { analyser, having } = search ?? {};
  if (!analyser || !having) return undefined;
  const accept = filter || where ? await index.accepting({ filter, where }) : undefined;
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
