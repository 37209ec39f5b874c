/**
 * Kinds of made-up queries that no source of `reatt adapt` makes, for teachers.ts: what could
 * stand for a question where a model has to be taught by its reader. The sentence that a query is
 * made of stays in its passage unless said otherwise, because a reader needs it.
 *
 *     removed     up to ten words around a name or date, with a question word in its place, read
 *                 without the sentence: other passages with the name are relevant
 *     question    question word, and half of the words of the sentence that are no stop words
 *     vague       question word, and the more frequent half of these words
 *     keyphrases  three phrases of different sentences, each in two passages or more
 */

import { createRandom, type Random } from "../src/math/random.ts";
import type { Passage } from "../src/text/passage.ts";
import type { Example, Passages } from "../src/training/examples/example.ts";
import {
  countPhrases,
  drawPhrase,
  stopWordsOf,
  textOf,
} from "../src/training/examples/sources/phrase-table.ts";
import { proseOf } from "../src/training/examples/sources/prose.ts";
import { isDrawn, unitsOf } from "../src/training/examples/sources/sampling.ts";
import { keysOf, type Word, wordsOf } from "../src/training/examples/sources/words.ts";
import { loadTagger, type SalientSpan } from "../src/training/salient-spans/index.ts";

export const QUERY_KINDS = ["removed", "question", "vague", "keyphrases"] as const;

export type QueryKind = (typeof QUERY_KINDS)[number];

const QUESTION_WORDS: Readonly<Record<string, string>> = {
  person: "who",
  date: "when",
  time: "when",
  place: "where",
  location: "where",
  facility: "where",
};
/** Words beside the name. SQuAD's questions have 11 words on average. */
const MAX_WORDS = 10;
const MIN_WORDS = 3;
const KEPT_SHARE = 0.5;
const KEYPHRASES = 3;

/** A query of each passage that has one, of about `wanted` random passages. */
export async function* queriesOf(
  kind: QueryKind,
  corpus: Passages,
  wanted: number,
): AsyncGenerator<Example, void> {
  const make = kind === "keyphrases" ? await keyphrases(corpus) : await questions(kind, corpus);
  const isWorth = await proseOf(corpus);
  for await (const passage of corpus.passages(isDrawn(0, "query kinds", wanted / corpus.size))) {
    const random = createRandom(0, kind, passage.id);
    const sentences = unitsOf(passage.text)
      .map(({ start, end }) => passage.text.slice(start, end))
      .filter(isWorth);
    const example = make(passage, random.shuffle(sentences), random);
    if (example) yield example;
  }
}

type Make = (passage: Passage, sentences: string[], random: Random) => Example | undefined;

async function keyphrases(corpus: Passages): Promise<Make> {
  const table = await countPhrases(corpus, 0);
  return ({ id }, sentences, random) => {
    const phrases = sentences.flatMap((sentence) => {
      const words = wordsOf(sentence);
      const phrase = drawPhrase(table.find(words, sentence), words, random);
      return phrase ? [textOf(phrase, words, sentence)] : [];
    });
    const question = phrases.slice(0, KEYPHRASES).join(" ");
    return phrases.length < KEYPHRASES ? undefined : { id, question, answers: [], relevant: [id] };
  };
}

async function questions(kind: QueryKind, corpus: Passages): Promise<Make> {
  const tag = await loadTagger();
  const stopWords = await stopWordsOf(corpus, 0);
  const counts = await passageCounts(corpus);
  return ({ id }, sentences, random) => {
    for (const sentence of sentences) {
      const spans = tag(sentence);
      if (spans.length === 0) continue;
      const span = spans[random.integer(spans.length)]!;
      const entity = sentence.slice(span.start, span.end);
      const words = wordsOf(sentence);
      const others = words.filter(({ start, end }) => end <= span.start || start >= span.end);
      const names = new Set(keysOf(wordsOf(entity)));
      if (others.some(({ key }) => names.has(key))) continue;
      const about = others.filter(({ key }) => !stopWords.has(key) && /\p{L}{2}|\d/u.test(key));
      const kept =
        kind === "vague"
          ? about.filter(isFrequentAmong(about, counts))
          : about.filter(() => random.next() < KEPT_SHARE);
      if (others.length < MAX_WORDS / 2 || kept.length < MIN_WORDS) continue;
      const asked = QUESTION_WORDS[span.kind] ?? "what";
      const shared = { id, answers: [entity], relevant: [id] };
      const keywords = kept.map(({ start, end }) => sentence.slice(start, end)).join(" ");
      if (kind === "question" || kind === "vague")
        return { ...shared, question: `${asked} ${keywords}?` };
      const question = cloze(sentence, span, others, asked);
      return { ...shared, question, evidence: entity, removal: { copies: { sentence, entity } } };
    }
    return undefined;
  };
}

/** In how many passages each word is. */
async function passageCounts(corpus: Passages): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const { text } of corpus.passages())
    for (const key of new Set(keysOf(wordsOf(text)))) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** Whether a word is in more passages than half of the words. */
function isFrequentAmong(words: readonly Word[], counts: ReadonlyMap<string, number>) {
  const ofWords = words.map(({ key }) => counts.get(key)!).sort((a, b) => b - a);
  const least = ofWords[Math.floor(ofWords.length / 2)]!;
  return ({ key }: Word): boolean => counts.get(key)! > least;
}

/** At most ten words around the name, half of them before it where possible. */
function cloze(
  sentence: string,
  { start, end }: SalientSpan,
  others: readonly Word[],
  asked: string,
): string {
  const before = others.filter((word) => word.end <= start);
  const after = others.filter((word) => word.start >= end);
  const left = before.slice(-Math.max(MAX_WORDS / 2, MAX_WORDS - after.length));
  const right = after.slice(0, MAX_WORDS - left.length);
  const opening = left.length > 0 ? sentence.slice(left[0]!.start, start) : "";
  const ending = right.length > 0 ? sentence.slice(end, right.at(-1)!.end) : "";
  return `${opening}${asked}${ending}?`;
}
