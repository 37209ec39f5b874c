/**
 * Salient span masking: the question is a sentence in which one name or date is masked, and the
 * answer is the masked text as it stands. The release's target is `<extra_id_0> ENTITY
 * <extra_id_1>`: with it, a model unlearns to answer questions, and the first position, whose
 * attention is distilled, generates a sentinel.
 *
 * Source: REALM (Guu et al. 2020), section 3.4; ReAtt (Jiang et al. 2022), section 3.3. The filters
 * for sentences and spans are those of the release.
 */

import { InputError } from "../../../io/errors.ts";
import { createRandom, type Random } from "../../../math/random.ts";
import type { Passage } from "../../../text/passage.ts";
import { sentences } from "../../../text/sentences.ts";
import { loadTagger, type SalientSpan, type Tagger } from "../../salient-spans/index.ts";
import { type Example, MASK } from "../example.ts";
import { proseOf } from "./prose.ts";
import { isDrawn, samplingOf } from "./sampling.ts";
import { defineSource, type Source } from "./source.ts";
import type { Survey } from "./survey.ts";
import { keysOf, MIN_WORDS, tokensOf } from "./words.ts";

/** In UTF-16 code units. A longer sentence is usually a list, or text that could not be split. */
const MAX_SENTENCE_LENGTH = 512;

/**
 * About `wanted` masked sentences: 1 to 5 of each passage, or one of each passage of a sample.
 *
 * @param tagger finds the spans. Default: `loadTagger()`, for English. Others suit any corpus.
 * @throws {InputError} while it makes examples, if a span of the tagger is not within its sentence
 */
export const maskedSpans = (tagger?: Tagger): Source<"spans"> =>
  defineSource({
    name: "spans",
    relevant: "the passage of the sentence",
    stage: "masking sentences",
    draws: 2, // about half of the masked names are in no other passage
    suits: (survey) => tagger !== undefined || suitsTagger(survey),
    isSlow: true,
    async *examples(corpus, { wanted, seed }) {
      const { perPassage, share } = samplingOf(corpus, wanted);
      const isWorth = await proseOf(corpus);
      const tag = tagger ?? (await loadTagger());
      const findSpans: Tagger = (sentence) => (isWorth(sentence) ? tag(sentence) : []);
      for await (const passage of corpus.passages(isDrawn(seed, "passages to mask", share))) {
        const random = createRandom(seed, "salient spans", passage.id);
        let count = 0;
        for await (const example of examplesOf(passage, findSpans, random)) {
          yield example;
          if (++count === perPassage) break;
        }
      }
    },
  });

const MIN_ENGLISH = 0.12;
/** Below it, a text is in lower case; above it, in capitals, or in German. */
const CAPITALS = { min: 0.01, max: 0.5 };

/** Whether the tagger of names and dates suits the text. It knows English with capital letters. */
const suitsTagger = ({ capitals, english }: Survey): boolean =>
  english >= MIN_ENGLISH && capitals >= CAPITALS.min && capitals <= CAPITALS.max;

/** The examples of one passage, at most one for each sentence, in random order. */
async function* examplesOf(
  passage: Passage,
  tagger: Tagger,
  random: Random,
): AsyncGenerator<Example, void> {
  for (const { start, end } of random.shuffle(sentences(passage.text))) {
    const sentence = passage.text.slice(start, end);
    if (sentence.length > MAX_SENTENCE_LENGTH || sentence.includes("<extra_id_")) continue;
    const spans = checked(await tagger(sentence), sentence).filter((one) =>
      isUsable(sentence, one),
    );
    const span = spans[spans.length > 0 ? random.integer(spans.length) : 0];
    if (!span) continue;
    const entity = sentence.slice(span.start, span.end);
    yield {
      id: `${passage.id}:${start}-${end}`,
      question: `${sentence.slice(0, span.start)}${MASK}${sentence.slice(span.end)}`,
      answers: [entity],
      relevant: [passage.id],
      removal: { copies: { sentence, entity } },
    };
  }
}

/** It has more than one character, does not occur again, and leaves at least five words. */
function isUsable(sentence: string, { start, end }: SalientSpan): boolean {
  const entity = keysOf(tokensOf(sentence.slice(start, end)));
  const rest = keysOf([...tokensOf(sentence.slice(0, start)), ...tokensOf(sentence.slice(end))]);
  const isRepeated = ` ${rest.join(" ")} `.includes(` ${entity.join(" ")} `);
  return entity.join("").length > 1 && !isRepeated && rest.length >= MIN_WORDS;
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
