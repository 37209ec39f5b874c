/**
 * Recurring phrases: a phrase of a sentence that occurs in other passages too. Half of the examples
 * mask it: the sentence is the question and the phrase is the text to generate, as in ReAtt, but
 * without a tagger or capital letters. The others are Spider's queries: words around the phrase,
 * for retrieval alone. The other passages with the phrase are relevant.
 *
 * Sources: Ram et al. 2022, "Learning to Retrieve Passages without Supervision" (Spider), section
 * 3; REALM (Guu et al. 2020), section 3.4. That a phrase is drawn in proportion to its idf is ours.
 */

import type { Random } from "../../../math/random.ts";
import type { Passage } from "../../../text/passage.ts";
import type { Extent } from "../../../text/sentences.ts";
import { type Example, MASK, type Passages } from "../example.ts";
import {
  countPhrases,
  drawPhrase,
  type PhraseTable,
  type RecurringPhrase,
  textOf,
} from "./phrase-table.ts";
import { examplesOfUnits } from "./prose.ts";
import type { Sample } from "./sampling.ts";
import { MIN_WORDS, type Word, wordsOf } from "./words.ts";

const MASKED_SHARE = 0.5;
/** Spider draws windows of 5 to 30 words. */
const MIN_WINDOW = 5;
const MAX_WINDOW = 30;
/** Spider keeps the phrase in half of its queries. */
const KEPT_SHARE = 0.5;

/** About `wanted` examples: 1 to 5 of each passage, or one of each passage of a sample. */
export async function* phrases(corpus: Passages, sample: Sample): AsyncGenerator<Example, void> {
  const table = await countPhrases(corpus, sample.seed);
  const names = { passages: "passages of phrases", examples: "phrases" };
  yield* examplesOfUnits(corpus, sample, names, (passage, unit, random) =>
    exampleOf(passage, unit, table, random),
  );
}

function exampleOf(
  passage: Passage,
  extent: Extent,
  table: PhraseTable,
  random: Random,
): Example | undefined {
  const sentence = passage.text.slice(extent.start, extent.end);
  if (sentence.includes("<extra_id_")) return undefined;
  const words = wordsOf(sentence);
  const isElsewhere = ({ known }: RecurringPhrase) => known.some((id) => id !== passage.id);
  const phrase = drawPhrase(table.find(words, sentence).filter(isElsewhere), words, random);
  if (!phrase) return undefined;
  const text = textOf(phrase, words, sentence);
  const id = `${passage.id}:${extent.start}-${extent.end}`;
  const relevant = phrase.known.filter((known) => known !== passage.id);
  if (random.next() < MASKED_SHARE)
    return {
      id,
      question: masked(sentence, words, phrase),
      answers: [text],
      evidence: text,
      relevant,
      removal: {
        cut: { passageId: passage.id, extent },
        copies: { sentence, entity: text },
      },
    };
  const question = windowAround(sentence, words, phrase, random);
  const removal = { passageId: passage.id };
  return { id, question, answers: [], evidence: text, relevant, removal };
}

/** The sentence with `<extra_id_0>` in place of the phrase. */
function masked(sentence: string, words: readonly Word[], { first, end }: RecurringPhrase): string {
  const after = sentence.slice(words[end - 1]!.end);
  return `${sentence.slice(0, words[first]!.start)}${MASK}${after}`;
}

/** A random window of words that has the phrase, or has it removed. */
function windowAround(
  sentence: string,
  words: readonly Word[],
  { first, end }: RecurringPhrase,
  random: Random,
): string {
  const length = MIN_WINDOW + random.integer(MAX_WINDOW - MIN_WINDOW + 1);
  const extra = Math.min(words.length, Math.max(length, end - first)) - (end - first);
  const before = Math.min(first, random.integer(extra + 1));
  const after = Math.min(words.length - end, extra - before);
  const start = words[first - before]!.start;
  const stop = words[end + after - 1]!.end;
  const isKept = random.next() < KEPT_SHARE || before + after < MIN_WORDS;
  if (isKept) return sentence.slice(start, stop);
  const left = sentence.slice(start, words[first]!.start).trimEnd();
  return `${left} ${sentence.slice(words[end - 1]!.end, stop).trimStart()}`.trim();
}
