/**
 * Counts in how many passages each phrase occurs, in bounded memory. A phrase is an n-gram of one
 * to four words that neither begins nor ends with a stop word.
 *
 * Source: Ram et al. 2022, "Learning to Retrieve Passages without Supervision" (Spider), section
 * 3.1 (recurring spans). Spider looks within one document; here, the whole corpus is searched.
 *
 * A large corpus has too many n-grams. The table then holds a random sample of them: those whose
 * hash is below a threshold, which is halved when the table is full (adaptive sampling, Flajolet
 * 1990). The counts of the phrases in the table stay exact, and the order of the corpus does not
 * matter.
 */

import type { Random } from "../../../math/random.ts";
import type { Passages } from "../example.ts";
import { extended, HASH_RANGE, hashOf } from "./hash.ts";
import { isDrawn } from "./sampling.ts";
import { keysOf, MIN_WORDS, type Word, wordsOf } from "./words.ts";

const MAX_WORDS = 4;
/** Phrases in the table: with 100,000 passages of 100 words, a process of 450 MB. */
const MAX_PHRASES = 2 ** 20;
/** Passages that are known for each phrase. */
const MAX_KNOWN = 4;

/** An occurrence of a phrase that occurs in two passages or more. */
export interface RecurringPhrase {
  /** Words from `first` up to `end`, which is exclusive. */
  readonly first: number;
  readonly end: number;
  /** Number of passages with the phrase. */
  readonly passages: number;
  /** ln(passages of the corpus / passages with the phrase), above 0. */
  readonly idf: number;
  /** Ids of some passages with the phrase. */
  readonly known: readonly string[];
}

export interface PhraseTable {
  /** The recurring phrases among these words of one text, in order. */
  find(words: readonly Word[], text: string): RecurringPhrase[];
}

interface Entry {
  passages: number;
  /** Of the passages with the smallest hashes, ascending: a sample for any order of the corpus. */
  known: { readonly id: string; readonly hash: number }[];
}

/** @param maxPhrases size of the table */
export async function countPhrases(
  corpus: Passages,
  seed: number,
  maxPhrases: number = MAX_PHRASES,
): Promise<PhraseTable> {
  const stopWords = await stopWordsOf(corpus, seed);
  const counts = new Map<number, Entry | string>(); // the id of the only passage, or an entry
  let threshold = HASH_RANGE; // two of its phrases have one hash with a probability of 1e-4
  for await (const passage of corpus.passages()) {
    const { text } = passage;
    const found = new Set<number>();
    for (const { hash } of ngrams(wordsOf(text), text, stopWords))
      if (hash < threshold) found.add(hash);
    for (const hash of found) addTo(counts, hash, passage.id);
    while (counts.size > maxPhrases) {
      threshold /= 2;
      for (const hash of counts.keys()) if (hash >= threshold) counts.delete(hash);
    }
  }
  return {
    find: (words, text) =>
      [...ngrams(words, text, stopWords)].flatMap(({ hash, first, end }) => {
        const entry = counts.get(hash);
        if (entry === undefined || typeof entry === "string") return [];
        const idf = Math.log(corpus.size / entry.passages);
        const known = entry.known.map(({ id }) => id);
        return idf > 0 ? [{ first, end, passages: entry.passages, idf, known }] : [];
      }),
  };
}

function addTo(counts: Map<number, Entry | string>, hash: number, id: string): void {
  const known = counts.get(hash);
  if (known === undefined) {
    counts.set(hash, id);
    return;
  }
  const item = (id: string) => ({ id, hash: extended(hash, hashOf(id)) });
  const entry = typeof known === "string" ? { passages: 1, known: [item(known)] } : known;
  entry.passages++;
  entry.known = [...entry.known, item(id)].sort((a, b) => a.hash - b.hash).slice(0, MAX_KNOWN);
  counts.set(hash, entry);
}

/** The phrases of a text. Words of a phrase have no punctuation between them. */
function* ngrams(
  words: readonly Word[],
  text: string,
  stopWords: ReadonlySet<string>,
): Generator<{ first: number; end: number; hash: number }> {
  for (let first = 0; first < words.length; first++) {
    if (stopWords.has(words[first]!.key)) continue;
    let hash = 0;
    let letters = 0;
    for (let end = first + 1; end <= Math.min(first + MAX_WORDS, words.length); end++) {
      const word = words[end - 1]!;
      if (end - 1 > first && !isJoined(text, words[end - 2]!, word)) break;
      hash = extended(hash, hashOf(word.key));
      letters += word.key.match(/\p{L}/gu)?.length ?? 0;
      if (letters >= 2 && !stopWords.has(word.key)) yield { first, end, hash };
    }
  }
}

/** Whether only white space, a hyphen or an apostrophe is between two words. */
function isJoined(text: string, a: Word, b: Word): boolean {
  for (let at = a.end; at < b.start; at++)
    if (!" \t\n\r\u00a0-‑’'".includes(text[at]!)) return false;
  return true;
}

/** The share of English text that its 50 to 100 most frequent words make up. */
const SHARE_OF_TEXT = 0.4;
/** In UTF-16 code units: "which", "their", "nicht". */
const MAX_LENGTH = 5;
/** Passages whose words are counted. */
const SAMPLED_PASSAGES = 2_000;
/** A rarer word is no stop word, which counts in a corpus of few passages. */
const MIN_COUNT = 3;

/**
 * The stop words of a corpus, found without a list for its language: the short words among those
 * that make up 40 % of its running text. Frequent words are short in all languages (Zipf 1935, "The
 * Psycho-Biology of Language"), while a frequent long word is what the corpus is about.
 */
export async function stopWordsOf(corpus: Passages, seed: number): Promise<Set<string>> {
  const counts = new Map<string, number>();
  let total = 0;
  const share = SAMPLED_PASSAGES / corpus.size;
  for await (const passage of corpus.passages(isDrawn(seed, "stop words", share)))
    for (const { key } of wordsOf(passage.text)) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      total++;
    }
  const stopWords = new Set<string>();
  let covered = 0;
  const byCount = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  for (const [word, count] of byCount) {
    if (covered >= SHARE_OF_TEXT * total || count < MIN_COUNT) break;
    covered += count;
    if (word.length <= MAX_LENGTH) stopWords.add(word);
  }
  return stopWords;
}

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
