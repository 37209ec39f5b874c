/**
 * The sentences that are worth a question. Left out are lists, rows of tables and links, which say
 * nothing, and boilerplate: sentences of many passages, such as notices, which fit them all.
 */

import { barsIn } from "../../../text/cells.ts";
import type { Passages } from "../example.ts";
import { isDrawn, unitsOf } from "./sampling.ts";
import { keysOf, wordsOf } from "./words.ts";

/** Passages in which sentences are counted. */
const SAMPLED_PASSAGES = 5_000;
/** A sentence of more passages is boilerplate; one of a few always counts. */
const MAX_SHARE = 0.01;
const ALWAYS_ALLOWED = 3;

/** Separators for each word. Prose with many names and dates has 0.25. */
const MAX_SEPARATORS = 0.4;
const SEPARATOR = /[,;，、；|·•»›→]|\s[-–—/]\s/gu;
/** Share of the characters that are links, and share of the words that are numbers. */
const MAX_LINKS = 0.3;
const MAX_NUMBERS = 0.5;
const LINK = /(?:https?:\/\/|www\.)\S+|(?<!\S)[^\s@]+@[^\s.]+\.\S+/gu;

const known = new WeakMap<Passages, Promise<ReadonlySet<string>>>();

/** Whether a sentence of the corpus is worth a question. The corpus is read once. */
export async function proseOf(corpus: Passages): Promise<(sentence: string) => boolean> {
  const found = known.get(corpus) ?? boilerplateOf(corpus);
  known.set(corpus, found);
  const boilerplate = await found;
  return (sentence) => isProse(sentence) && !boilerplate.has(keyOf(sentence));
}

/** Whether a text is no list, no row of a table or of numbers, and no collection of links. */
export function isProse(text: string): boolean {
  if (barsIn(text).length > 0) return false;
  const words = wordsOf(text);
  const links = text.match(LINK)?.join("").length ?? 0;
  const numbers = words.filter(({ key }) => !/\p{L}/u.test(key)).length;
  const separators = text.match(SEPARATOR)?.length ?? 0;
  return (
    links <= MAX_LINKS * text.length &&
    numbers <= MAX_NUMBERS * words.length &&
    separators <= MAX_SEPARATORS * words.length
  );
}

async function boilerplateOf(corpus: Passages): Promise<ReadonlySet<string>> {
  const counts = new Map<string, number>();
  let passages = 0;
  for await (const { text } of corpus.passages(
    isDrawn(0, "sentences", SAMPLED_PASSAGES / corpus.size),
  )) {
    passages++;
    for (const key of new Set(unitsOf(text).map(({ start, end }) => keyOf(text.slice(start, end)))))
      counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const limit = Math.max(ALWAYS_ALLOWED, MAX_SHARE * passages);
  return new Set([...counts].flatMap(([key, count]) => (count > limit ? [key] : [])));
}

const keyOf = (sentence: string): string => keysOf(wordsOf(sentence)).join(" ");
