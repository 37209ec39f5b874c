/** Draws a phrase of a sentence that can be masked or asked for. */

import type { Random } from "../../../math/random.ts";
import type { RecurringPhrase } from "./phrase-table.ts";
import { keysOf, MIN_WORDS, type Word } from "./words.ts";

/**
 * One of the `found` phrases of a sentence with these words, in proportion to its idf. It occurs
 * once in the sentence and leaves five words; undefined if there is none.
 */
export function drawPhrase(
  found: readonly RecurringPhrase[],
  words: readonly Word[],
  random: Random,
): RecurringPhrase | undefined {
  return drawByIdf(
    maximal(found).filter((phrase) => isUsable(phrase, words)),
    random,
  );
}

/** The text of a phrase of `sentence`. */
export const textOf = (
  { first, end }: RecurringPhrase,
  words: readonly Word[],
  sentence: string,
): string => sentence.slice(words[first]!.start, words[end - 1]!.end);

/** Without the phrases that are a part of a longer one with which they always occur. */
function maximal(found: readonly RecurringPhrase[]): RecurringPhrase[] {
  return found.filter(
    ({ first, end, passages }) =>
      !found.some(
        (other) =>
          other.first <= first &&
          end <= other.end &&
          other.end - other.first > end - first &&
          other.passages === passages,
      ),
  );
}

/** Whether the phrase occurs once in its sentence, and five other words are left. */
function isUsable({ first, end }: RecurringPhrase, words: readonly Word[]): boolean {
  const keys = (from: number, to: number): string => ` ${keysOf(words.slice(from, to)).join(" ")} `;
  const phrase = keys(first, end);
  const isRepeated = keys(0, first).includes(phrase) || keys(end, words.length).includes(phrase);
  return !isRepeated && words.length - (end - first) >= MIN_WORDS;
}

function drawByIdf(found: readonly RecurringPhrase[], random: Random): RecurringPhrase | undefined {
  const sum = found.reduce((all, { idf }) => all + idf, 0);
  let rest = random.next() * sum;
  for (const phrase of found) {
    rest -= phrase.idf;
    if (rest < 0) return phrase;
  }
  return found.at(-1);
}
