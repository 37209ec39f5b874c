/**
 * Salient span masking: a sentence of the corpus in which one named entity or date is masked is the question, and
 * what was masked is the answer. Documents are all it needs.
 *
 * Source: REALM (Guu et al. 2020), section 3.4; ReAtt (Jiang et al. 2022), section 3.3.
 */

import { InputError } from "../../io/errors.ts";
import { createRandom, type Random } from "../../math/random.ts";
import type { Passage } from "../../text/passage.ts";
import { MIN_WORDS, removeCopies } from "./copies.ts";
import { type Extent, sentences } from "./sentences.ts";
import type { Span, Tagger } from "./spans.ts";
import { loadTagger } from "./tagger.ts";
import { keysOf, tokensOf } from "./tokens.ts";

/** A longer sentence (in UTF-16 units) is mostly a list, or text that could not be split. */
const MAX_SENTENCE_LENGTH = 512;

/** What stands in the question for what was masked. */
export const MASK = "<extra_id_0>";

export interface SentenceWithMask {
  /** The sentence with `<extra_id_0>` where the entity was. */
  readonly question: string;
  /**
   * What was masked, and what is to be written: as an answer would be. In ReAtt the target is T5's, `<extra_id_0> ENTITY <extra_id_1>`, with
   * which a model that answers questions unlearns to, and the first position, whose attention is distilled, writes a sentinel.
   */
  readonly entity: string;
  readonly kind: string;
  readonly passageId: string;
  /** Where the sentence is in the text of its passage. */
  readonly sentence: Extent;
}

export interface MaskedSentence extends SentenceWithMask {
  /** The text of the passage without the sentence and its near copies; may be empty. */
  readonly passageWithout: string;
}

export interface MaskingOptions {
  /** What finds the spans; by default `loadTagger()`, which knows English. */
  readonly tagger?: Tagger;
  /** Sentences per passage at most; 1 by default. The papers' sizes take 1 to 5. */
  readonly perPassage?: number;
  /** The same seed draws the same examples from a passage, whatever stands before it. */
  readonly seed?: number | string;
}

export interface MaskingCounts {
  readonly passages: number;
  /** Passages without a usable span: empty, of another language, of lists. */
  readonly passagesWithoutExample: number;
  readonly examples: number;
}

/**
 * Examples passage by passage; those of one passage in the order they were drawn, so that fewer per passage are
 * the first of more.
 *
 * @returns how much was read and made, once all passages are read
 * @throws InputError after the last passage when there was no usable span in any, and when the tagger's spans do not
 *   fit its sentence
 */
export async function* maskedSentences(
  passages: Iterable<Passage> | AsyncIterable<Passage>,
  options: MaskingOptions = {},
): AsyncGenerator<MaskedSentence, MaskingCounts> {
  const { tagger = await loadTagger(), perPassage = 1, seed = 0 } = options;
  if (!Number.isInteger(perPassage) || perPassage < 1) {
    throw new InputError({
      where: "perPassage",
      expected: "a number of sentences, 1 or more",
      got: `${perPassage}`,
      remedy: "the papers take 1 to 5",
    });
  }
  const counts = { passages: 0, passagesWithoutExample: 0, examples: 0 };
  for await (const passage of passages) {
    const before = counts.examples;
    const random = createRandom(seed, "salient spans", passage.id);
    for await (const example of examplesOf(passage, tagger, random)) {
      counts.examples++;
      yield example;
      if (counts.examples - before === perPassage) break;
    }
    counts.passages++;
    if (counts.examples === before) counts.passagesWithoutExample++;
  }
  if (counts.examples === 0) {
    throw new InputError({
      where: "salient span masking",
      expected: "a sentence with a name or a date",
      got: `none in ${counts.passages} passages`,
      remedy:
        "give a tagger for the language and field of the corpus, or adapt with questions or relevance labels",
    });
  }
  return counts;
}

/** Examples of one passage, one a sentence, in random order. */
async function* examplesOf(
  passage: Passage,
  tagger: Tagger,
  random: Random,
): AsyncGenerator<MaskedSentence> {
  for (const extent of random.shuffle(sentences(passage.text))) {
    const sentence = passage.text.slice(extent.start, extent.end);
    if (sentence.length > MAX_SENTENCE_LENGTH || sentence.includes("<extra_id_")) continue;
    const usable = checked(await tagger(sentence), sentence).filter((span) =>
      isUsable(sentence, span),
    );
    const span = usable[usable.length > 0 ? random.integer(usable.length) : 0];
    if (span === undefined) continue;
    const masked = maskSpan(passage, extent, span);
    yield {
      ...masked,
      passageWithout: removeCopies({ sentence, entity: masked.entity }, passage.text),
    };
  }
}

/** The sentence at `extent` of a passage, with `span` of it masked. */
export function maskSpan(passage: Passage, extent: Extent, span: Span): SentenceWithMask {
  const sentence = passage.text.slice(extent.start, extent.end);
  const entity = sentence.slice(span.start, span.end);
  return {
    question: `${sentence.slice(0, span.start)}${MASK}${sentence.slice(span.end)}`,
    entity,
    kind: span.kind,
    passageId: passage.id,
    sentence: extent,
  };
}

/** What was masked, in the sentence before it was. */
export function spanOf({ question, entity, kind }: SentenceWithMask): Span {
  const start = question.indexOf(MASK);
  return { start, end: start + entity.length, kind };
}

/** The sentence before it was masked. */
export function unmasked({ question, entity }: SentenceWithMask): string {
  return question.replace(MASK, () => entity);
}

/** The filters of the papers: the entity is no single character, is nowhere else in the sentence, and leaves words. */
function isUsable(sentence: string, { start, end }: Span): boolean {
  const entity = keysOf(tokensOf(sentence.slice(start, end)));
  const rest = keysOf([...tokensOf(sentence.slice(0, start)), ...tokensOf(sentence.slice(end))]);
  const isRepeated = ` ${rest.join(" ")} `.includes(` ${entity.join(" ")} `);
  return entity.join("").length > 1 && !isRepeated && rest.length >= MIN_WORDS;
}

function checked(spans: readonly Span[], sentence: string): readonly Span[] {
  const wrong = spans.find(
    ({ start, end }) =>
      !(
        Number.isInteger(start) &&
        Number.isInteger(end) &&
        0 <= start &&
        start < end &&
        end <= sentence.length
      ),
  );
  if (wrong === undefined) return spans;
  throw new InputError({
    where: "tagger",
    expected: `spans within a sentence of ${sentence.length} UTF-16 units`,
    got: `${wrong.start} to ${wrong.end} in ${JSON.stringify(sentence)}`,
    remedy: "offsets count from the beginning of the sentence; `end` is behind the last unit",
  });
}
