/** Where training examples come from. */

import { createRandom } from "../../math/random.ts";
import type { Passage } from "../../text/passage.ts";
import { passageIds, retrievalQuestionIds } from "../../text/prompts.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";
import type { TokenExample } from "../loss/batch.ts";
import type { ResolvedOptions } from "../options/train-options.ts";

/** A question, an answer to write, and the close passages to find it in. */
export interface TextExample {
  readonly question: string;
  readonly answer: string;
  readonly passages: readonly Passage[];
  /** The place of the passage that is known to be relevant, where one is. */
  readonly relevant?: number | undefined;
}

/** What is left where no passage helps: training may find that it needs none (REALM, section 3.4). */
const NULL_PASSAGE: Passage = { id: "", title: "", text: "" };

/** `count` passages: those given, and the null passage in the places that are left. */
export const withNullPassages = (passages: readonly Passage[], count: number): Passage[] => [
  ...passages,
  ...Array<Passage>(count - passages.length).fill(NULL_PASSAGE),
];

/** Examples by number. All have equally many passages. */
export interface ExampleSource {
  readonly size: number;
  /** The same for the same `index` and `step`; what is drawn anew each time (an alias of the answer) depends on `step`. */
  example(index: number, step: number): TextExample;
}

/**
 * What an iteration trains on: all of `items`, or where its steps read fewer, as many as they do, drawn at random, so that close passages are
 * found for no others.
 */
export function itemsOfIteration<Item>(
  items: readonly Item[],
  iteration: number,
  { seed, steps, questions }: Pick<ResolvedOptions, "seed" | "steps" | "questions">,
): readonly Item[] {
  const count = steps * questions;
  if (items.length <= count) return items;
  return createRandom(seed, "items", iteration).shuffle(items).slice(0, count);
}

/** Steps that divide their examples among themselves by length, at most. */
const STEPS_OF_POOL = 8;
/** An epoch has so many pools at least: in one that is of two epochs, few examples stand twice. */
const POOLS_OF_EPOCH = 4;

/** The examples of a step, counted from 0, as token ids. */
export function examplesOfStep(
  source: ExampleSource,
  tokenizer: Tokenizer,
  options: {
    seed: string;
    step: number;
    questions: number;
    maxPassageTokens: number;
    maxAnswerTokens: number;
  },
): TokenExample[] {
  const { seed, step, questions, maxPassageTokens, maxAnswerTokens } = options;
  const examples = lengthBucketedSample(source, { seed, step, count: questions }).map((index) => {
    const { question, answer, passages, relevant } = source.example(index, step);
    return {
      relevant,
      question: retrievalQuestionIds(tokenizer, question),
      answer: [...tokenizer.encode(answer), tokenizer.eosId].slice(0, maxAnswerTokens),
      passages: passages.map((passage) => passageIds(tokenizer, passage, maxPassageTokens)),
    };
  });
  return longestFirst(examples);
}

/**
 * The places of a step's examples in `source`, which are of like length, so that they are padded little: what `drawIndexes` draws for some steps
 * together, cut by length into as many parts, which the steps take in random order.
 */
export function lengthBucketedSample(
  source: ExampleSource,
  { seed, step, count }: { readonly seed: string; readonly step: number; readonly count: number },
): number[] {
  const steps = Math.min(
    STEPS_OF_POOL,
    Math.max(1, Math.floor(source.size / (POOLS_OF_EPOCH * count))),
  );
  return partsOfPool(source, seed, Math.floor(step / steps), steps, count)[step % steps]!;
}

/** For each step of a pool the places of its examples. */
const partsOfPool = memoise(
  (source: ExampleSource, seed: string, pool: number, steps: number, count: number): number[][] => {
    const drawn = drawIndexes(source.size, { seed, step: pool, count: steps * count });
    const lengths = drawn.map((index) => characters(source.example(index, pool * steps)));
    const byLength = [...drawn.keys()].sort((a, b) => lengths[a]! - lengths[b]!);
    const order = createRandom(seed, "lengths", pool).shuffle([...Array(steps).keys()]);
    return order.map((part) =>
      byLength.slice(part * count, (part + 1) * count).map((place) => drawn[place]!),
    );
  },
);

/** Of the question and the longest passage, which set what the step's other examples are padded to. */
const characters = ({ question, passages }: TextExample): number =>
  question.length + Math.max(0, ...passages.map(({ title, text }) => title.length + text.length));

/** The places of a step's examples among `size`: every epoch is a new order of all of them, determined by `seed`. */
export function drawIndexes(
  size: number,
  { seed, step, count }: { readonly seed: string; readonly step: number; readonly count: number },
): number[] {
  return Array.from({ length: count }, (_, i) => {
    const position = step * count + i;
    return orderOfEpoch(size, seed, Math.floor(position / size))[position % size]!;
  });
}

/** Sorted by length, so that chunks are padded little. */
export function longestFirst(examples: readonly TokenExample[]): TokenExample[] {
  const longest = ({ passages }: TokenExample): number =>
    Math.max(...passages.map(({ length }) => length));
  return examples.toSorted((a, b) => longest(b) - longest(a));
}

const orderOfEpoch = memoise((size: number, seed: string, epoch: number): readonly number[] =>
  createRandom(seed, "order", epoch).shuffle(Array.from({ length: size }, (_, i) => i)),
);

/** `compute`, with its last result kept for the next call: the steps of a pool, and of an epoch, ask for the same. */
function memoise<Arguments extends readonly unknown[], Result>(
  compute: (...of: Arguments) => Result,
): (...of: Arguments) => Result {
  let last: { readonly of: Arguments; readonly result: Result } | undefined;
  return (...of) => {
    if (!last?.of.every((argument, i) => argument === of[i])) last = { of, result: compute(...of) };
    return last.result;
  };
}
