/**
 * Generated questions: a recurring phrase is the answer, and the words around it are the question,
 * with "what" in place of the phrase. `answerable` keeps those that the model answers with the
 * phrase when it reads the passage.
 *
 * Sources: Lewis et al. 2019, "Unsupervised Question Answering by Cloze Translation", section 2
 * (a question word in place of the answer; "what" alone and the window are ours); Alberti et al.
 * 2019, "Synthetic QA Corpora Generation with Roundtrip Consistency".
 */

import type { Random } from "../../../math/random.ts";
import type { Passage } from "../../../text/passage.ts";
import type { Extent } from "../../../text/sentences.ts";
import type { Example, Passages } from "../example.ts";
import {
  countPhrases,
  drawPhrase,
  type PhraseTable,
  type RecurringPhrase,
  textOf,
} from "./phrase-table.ts";
import { examplesOfUnits } from "./prose.ts";
import type { Sample } from "./sampling.ts";
import { type Word, wordsOf } from "./words.ts";

const QUESTION_WORD = "what";
/** Words beside the phrase. SQuAD's questions have 11 words on average. */
const MAX_WORDS = 10;

/** About `wanted` questions, not read yet: 1 to 5 of each passage, or one of each of a sample. */
export async function* generatedQuestions(
  corpus: Passages,
  sample: Sample,
): AsyncGenerator<Example, void> {
  const table = await countPhrases(corpus, sample.seed);
  const names = { passages: "passages to ask about", examples: "generated questions" };
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
  const words = wordsOf(sentence);
  const phrase = drawPhrase(table.find(words, sentence), words, random);
  return (
    phrase && {
      id: `${passage.id}:${extent.start}-${extent.end}`,
      question: questionFor(phrase, words, sentence),
      answers: [textOf(phrase, words, sentence)],
      relevant: [passage.id],
    }
  );
}

/** At most `MAX_WORDS` words around the phrase, half of them before it where possible. */
function questionFor(
  { first, end }: RecurringPhrase,
  words: readonly Word[],
  sentence: string,
): string {
  const following = words.length - end;
  const before = Math.min(first, Math.max(MAX_WORDS / 2, MAX_WORDS - following));
  const after = Math.min(following, MAX_WORDS - before);
  const left = sentence.slice(words[first - before]!.start, words[first]!.start);
  const right = sentence.slice(words[end - 1]!.end, words[end + after - 1]!.end);
  return `${left}${QUESTION_WORD}${right}?`.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
}
