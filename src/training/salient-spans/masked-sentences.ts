/**
 * Salient span masking: the question is a sentence of the corpus in which one named entity or date
 * is masked, and the answer is the masked text. It needs documents only.
 *
 * Source: REALM (Guu et al. 2020), section 3.4; ReAtt (Jiang et al. 2022), section 3.3. The filters
 * for sentences and spans are not in the papers.
 */

import { InputError } from "../../io/errors.ts";
import { createRandom, type Random } from "../../math/random.ts";
import type { Passage } from "../../text/passage.ts";
import { type Extent, sentences } from "../../text/sentences.ts";
import { MIN_SENTENCE_WORDS } from "./copies.ts";
import type { SalientSpan, Tagger } from "./spans.ts";
import { loadTagger } from "./tagger.ts";
import { keysOf, tokensOf } from "./tokens.ts";

/** In UTF-16 code units. A longer sentence is usually a list, or text that could not be split. */
const MAX_SENTENCE_LENGTH = 512;

/** Replaces the masked entity in the question. */
export const MASK = "<extra_id_0>";

export interface MaskedSentence {
  /** The sentence with `<extra_id_0>` in place of the entity. */
  readonly question: string;
  /**
   * The masked text, which is the target as it stands. The release's target is `<extra_id_0> ENTITY
   * <extra_id_1>`: with it, a model unlearns to answer questions, and the first position, whose
   * attention is distilled, generates a sentinel.
   */
  readonly entity: string;
  readonly kind: string;
  readonly passageId: string;
  /** Where the sentence is in the text of its passage. */
  readonly sentence: Extent;
}

export interface MaskingOptions {
  /** Finds the spans. Default: `loadTagger()`, for English. */
  readonly tagger?: Tagger;
  /** Maximum number of sentences of each passage. Default 1; the authors used 1 to 5. */
  readonly perPassage?: number;
  /** With equal seeds, equal passages give equal examples, in any corpus. Default 0. */
  readonly seed?: number | string;
}

export interface MaskingCounts {
  readonly passages: number;
  /** Passages without a usable span: empty, in another language, or lists. */
  readonly passagesWithoutExample: number;
  readonly examples: number;
}

/**
 * Masks sentences, passage by passage. The sentences of a passage come in the order in which they
 * are drawn: with a smaller `perPassage`, the first of them are the same.
 *
 * @returns counts, after the last passage
 * @throws {InputError} if no passage has a usable span, or if a span of the tagger is not within
 *   its sentence
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
      remedy: "choose 1 to 5",
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
        "give a tagger for the language and field of the corpus, " +
        "or adapt with questions or relevance labels",
    });
  }
  return counts;
}

/** The examples of one passage, at most one for each sentence, in random order. */
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
    yield maskSpan(passage, extent, span);
  }
}

/** Masks `span` of the sentence at `extent` of a passage. */
export function maskSpan(passage: Passage, extent: Extent, span: SalientSpan): MaskedSentence {
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

/** The masked span, within the original sentence. */
export function salientSpanOf({ question, entity, kind }: MaskedSentence): SalientSpan {
  const start = question.indexOf(MASK);
  return { start, end: start + entity.length, kind };
}

/** The original sentence. */
export function unmasked({ question, entity }: MaskedSentence): string {
  return question.replace(MASK, () => entity);
}

/**
 * Whether a span can be masked: it has more than one character, does not occur elsewhere in the
 * sentence, and leaves at least 5 words. The release has the same filters.
 */
function isUsable(sentence: string, { start, end }: SalientSpan): boolean {
  const entity = keysOf(tokensOf(sentence.slice(start, end)));
  const rest = keysOf([...tokensOf(sentence.slice(0, start)), ...tokensOf(sentence.slice(end))]);
  const isRepeated = ` ${rest.join(" ")} `.includes(` ${entity.join(" ")} `);
  return entity.join("").length > 1 && !isRepeated && rest.length >= MIN_SENTENCE_WORDS;
}

function checked(spans: readonly SalientSpan[], sentence: string): readonly SalientSpan[] {
  const isWithin = ({ start, end }: SalientSpan): boolean =>
    [start, end].every(Number.isInteger) && 0 <= start && start < end && end <= sentence.length;
  const wrong = spans.find((span) => !isWithin(span));
  if (wrong === undefined) return spans;
  throw new InputError({
    where: "tagger",
    expected: `spans within a sentence of ${sentence.length} UTF-16 units`,
    got: `${wrong.start} to ${wrong.end} in ${JSON.stringify(sentence)}`,
    remedy: "count offsets from the beginning of the sentence; `end` is exclusive",
  });
}
