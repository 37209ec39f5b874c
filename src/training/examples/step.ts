/** Which examples each step of training reads, as texts and as token ids. */

import { createRandom } from "../../math/random.ts";
import { phraseTokens } from "../../retrieval/phrases/best-phrases.ts";
import { findAnswerSpan } from "../../text/answer-span.ts";
import type { Passage } from "../../text/passage.ts";
import { passageIds, retrievalQuestionIds } from "../../text/tokens/prompts.ts";
import { textPlaces } from "../../text/tokens/token-places.ts";
import type { Tokenizer } from "../../text/tokens/tokenizer.ts";
import type { AnswerPhrase, TokenExample } from "../objectives/token-batch.ts";
import { type RelevanceExample, stepRelevance } from "./step-relevance.ts";

/** A question, the answer to generate, and the candidates to read. */
export interface TextExample extends RelevanceExample {
  readonly question: string;
  readonly answer: string;
  /** The score of each passage that the data gives. Default none. */
  readonly scores?: readonly (number | undefined)[] | undefined;
  /** The example does not train reading. Default false. */
  readonly retrievalOnly?: boolean | undefined;
}

/** Examples with their candidates, by index. */
export interface TextExamples {
  readonly size: number;
  /** Equal arguments give equal examples. What is drawn for each step depends on `step`. */
  example(index: number, step: number): TextExample;
}

/** What determines the examples of a step. */
interface StepSample {
  readonly seed: string;
  /** Counted from 0. */
  readonly step: number;
  /** Number of examples. */
  readonly count: number;
}

interface StepOptions {
  readonly seed: string;
  /** Counted from 0. */
  readonly step: number;
  readonly questions: number;
  readonly maxPassageTokens: number;
  readonly maxAnswerTokens: number;
  /** Number of earlier steps whose passages can be negatives. Default 0. */
  readonly preBatch?: number | undefined;
  /** Weight of the phrase loss. With it, examples have phrases. Default 0. */
  readonly phraseLoss?: number | undefined;
}

/** The examples of a step as token ids, the longest first. */
export function examplesOfStep(
  all: TextExamples,
  tokenizer: Tokenizer,
  options: StepOptions,
): TokenExample[] {
  const { seed, step, questions, maxPassageTokens, maxAnswerTokens, preBatch = 0 } = options;
  const textsOf = (ofStep: number): TextExample[] =>
    lengthBucketedSample(all, { seed, step: ofStep, count: questions }).map((index) =>
      all.example(index, ofStep),
    );
  const earlierSteps = [...Array(step).keys()].slice(Math.max(0, step - preBatch));
  const earlier = earlierSteps.flatMap(textsOf).flatMap(({ passages }) => passages);
  const examples = textsOf(step);
  const relevance = stepRelevance(examples, earlier);
  const idsOf = onceFor((passage: Passage) => passageIds(tokenizer, passage, maxPassageTokens));
  const placesOf = onceFor((passage: Passage) => textPlaces(tokenizer, passage, idsOf(passage)));
  const tokenExamples = examples.map((example, i): TokenExample => {
    const { question, answer, passages, scores, retrievalOnly = false } = example;
    const { positives, notNegatives } = relevance[i]!;
    const hasPhrases = Boolean(options.phraseLoss) && !retrievalOnly;
    return {
      question: retrievalQuestionIds(tokenizer, question),
      answer: retrievalOnly
        ? []
        : [...tokenizer.encode(answer), tokenizer.eosId].slice(0, maxAnswerTokens),
      passages: passages.map(idsOf),
      scores,
      positives,
      isLabelled: example.relevant.length > 0,
      notNegatives: notNegatives.map(idsOf),
      phrases: hasPhrases ? phrasesOf(example, positives, placesOf) : undefined,
    };
  });
  return longestFirst(tokenExamples);
}

/** Where the answer stands in the positives that contain it as a phrase. */
export function phrasesOf(
  { answer, passages }: Pick<TextExample, "answer" | "passages">,
  positives: readonly number[],
  placesOf: (passage: Passage, candidate: number) => ReturnType<typeof textPlaces>,
): AnswerPhrase[] {
  return positives.flatMap((candidate) => {
    const passage = passages[candidate]!;
    const span = findAnswerSpan(answer, passage.text);
    const tokens = span && phraseTokens(placesOf(passage, candidate), span);
    return tokens ? { candidate, ...tokens } : [];
  });
}

/** Computes the result for each key once. */
function onceFor<Key, Result>(compute: (key: Key) => Result): (key: Key) => Result {
  const results = new Map<Key, Result>();
  return (key) => {
    const result = results.get(key) ?? compute(key);
    results.set(key, result);
    return result;
  };
}

/** Maximum number of steps that share a pool of examples. */
const STEPS_OF_POOL = 8;
/** Minimum number of pools of an epoch. A pool across two epochs can hold an example twice. */
const POOLS_OF_EPOCH = 4;

/**
 * The indexes of a step's examples among `all`. The examples have similar lengths, so that they
 * need little padding: a pool of examples for several steps is sorted by length and cut into equal
 * buckets, which the steps take in random order.
 */
export function lengthBucketedSample(
  all: TextExamples,
  { seed, step, count }: StepSample,
): number[] {
  const steps = Math.min(
    STEPS_OF_POOL,
    Math.max(1, Math.floor(all.size / (POOLS_OF_EPOCH * count))),
  );
  return bucketsOfPool(all, seed, Math.floor(step / steps), steps, count)[step % steps]!;
}

/** The indexes of the examples of each step of a pool. [steps][count] */
const bucketsOfPool = memoise(
  (all: TextExamples, seed: string, pool: number, steps: number, count: number): number[][] => {
    const drawn = drawIndexes(all.size, { seed, step: pool, count: steps * count });
    const lengths = drawn.map((index) => characters(all.example(index, pool * steps)));
    const byLength = [...drawn.keys()].sort((a, b) => lengths[a]! - lengths[b]!);
    const order = createRandom(seed, "lengths", pool).shuffle([...Array(steps).keys()]);
    return order.map((bucket) =>
      byLength.slice(bucket * count, (bucket + 1) * count).map((place) => drawn[place]!),
    );
  },
);

/** Characters of question and longest passage: they determine the padding of the batch. */
const characters = ({ question, passages }: TextExample): number =>
  question.length + Math.max(0, ...passages.map(({ title, text }) => title.length + text.length));

/** The indexes of a step's examples among `size`. Each epoch is a new random order of all. */
export function drawIndexes(size: number, { seed, step, count }: StepSample): number[] {
  return Array.from({ length: count }, (_, i) => {
    const position = step * count + i;
    return orderOfEpoch(size, seed, Math.floor(position / size))[position % size]!;
  });
}

/** Sorts by the longest passage, so that a chunk of the batch needs little padding. */
export function longestFirst(examples: readonly TokenExample[]): TokenExample[] {
  const longest = ({ passages }: TokenExample): number =>
    Math.max(...passages.map(({ length }) => length));
  return examples.toSorted((a, b) => longest(b) - longest(a));
}

const orderOfEpoch = memoise((size: number, seed: string, epoch: number): readonly number[] =>
  createRandom(seed, "order", epoch).shuffle(Array.from({ length: size }, (_, i) => i)),
);

/** Remembers the last result: the steps of a pool or epoch call with equal arguments. */
function memoise<Arguments extends readonly unknown[], Result>(
  compute: (...args: Arguments) => Result,
): (...args: Arguments) => Result {
  let last: { readonly args: Arguments; readonly result: Result } | undefined;
  return (...args) => {
    if (!last?.args.every((argument, i) => argument === args[i]))
      last = { args, result: compute(...args) };
    return last.result;
  };
}
