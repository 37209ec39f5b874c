/** What a corpus looks like, which decides the sources that `auto` tries. */

import { createHash } from "node:crypto";
import { InputError } from "../../../io/errors.ts";
import { sentences } from "../../../text/sentences.ts";
import type { Passages } from "../example.ts";
import { isDrawn } from "./sampling.ts";
import { wordsOf } from "./words.ts";

export interface Survey {
  /** Share of the passages that have a title. */
  readonly titles: number;
  /** Share of the texts of more than 20 words that have two sentences or more. */
  readonly sentenceEnds: number;
  /** Share of the words, except first words of sentences, that begin with a capital letter. */
  readonly capitals: number;
  /** Share of the words that are function words of English. */
  readonly english: number;
}

/** Passages that are looked at. */
const SURVEYED = 400;
/** These make up a quarter of English text, also of scientific abstracts. */
const ENGLISH = new Set("the of and in to a is for with that by".split(" "));
const LONG_TEXT = 20;

/** A random part of a corpus, of about `SURVEYED` passages. */
export async function surveyedPart(corpus: Passages, seed: number): Promise<Passages> {
  const accept = isDrawn(seed, "survey", SURVEYED / corpus.size);
  let size = 0;
  for await (const _ of corpus.passages(accept)) size++;
  return {
    size,
    passages: (also = () => true) => corpus.passages((id) => accept(id) && also(id)),
  };
}

/**
 * Looks at passages.
 *
 * @throws {InputError} if they have no words, or if all have the same text: then there is nothing
 *   to tell apart
 */
export async function survey(part: Passages): Promise<Survey> {
  const texts = new Set<string>();
  const counts = { titles: 0, long: 0, ended: 0, words: 0, inner: 0, capitals: 0, english: 0 };
  for await (const { title, text } of part.passages()) {
    if (title.trim() !== "") counts.titles++;
    const words = wordsOf(text);
    if (words.length > 0) texts.add(createHash("sha256").update(text).digest("base64"));
    const found = sentences(text);
    const first = new Set(found.map(({ start }) => start));
    if (words.length > LONG_TEXT) counts.long++;
    if (words.length > LONG_TEXT && found.length > 1) counts.ended++;
    for (const { start, key } of words) {
      counts.words++;
      if (ENGLISH.has(key)) counts.english++;
      if (first.has(start)) continue;
      counts.inner++;
      if (/\p{Lu}/u.test(text[start]!)) counts.capitals++;
    }
  }
  if (texts.size < 2) throw nothingToTellApart(texts.size, part.size);
  return {
    titles: counts.titles / part.size,
    sentenceEnds: counts.ended / Math.max(1, counts.long),
    capitals: counts.capitals / Math.max(1, counts.inner),
    english: counts.english / Math.max(1, counts.words),
  };
}

const nothingToTellApart = (texts: number, passages: number): InputError =>
  new InputError({
    where: "adaptation to documents",
    expected: "two passages or more with different texts",
    got:
      texts === 0
        ? `no words in ${passages} ${passages === 1 ? "passage" : "passages"}`
        : `one text${passages > 1 ? ` in ${passages} passages` : ""}`,
    remedy: "split long documents into passages of about 100 words, or give data or labels",
  });
