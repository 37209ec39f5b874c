/**
 * The examples of phrase queries, and the tensors of a step from an index: the inputs of the losses
 * of objectives/phrases.ts.
 */

import { InputError } from "../../io/errors.ts";
import { concat } from "../../math/concat.ts";
import { phraseTokens } from "../../retrieval/phrases/best-phrases.ts";
import type { IndexGeneration } from "../../retrieval/search/generation.ts";
import type { FoundPhrase, PlacesOf } from "../../retrieval/search-phrases.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { findAnswerSpan } from "../../text/answer-span.ts";
import type { TrainingQuestion } from "../examples/training-questions.ts";
import type { PassageLossInput, SearchLossInput } from "../objectives/phrases.ts";

type Index = Pick<IndexGeneration, "header" | "keys">;

/** The keys of the passages of `gold`, each passage once, and the answers in them. */
export async function passageInput(
  index: Index,
  gold: readonly GoldPhrase[],
): Promise<PassageLossInput<Tensor>> {
  const { dimension } = index.header;
  const ordinals = [...new Set(gold.map(({ ordinal }) => ordinal))];
  const keys = await Promise.all(ordinals.map((ordinal) => index.keys(ordinal)));
  const starts = [0];
  for (const { length } of keys) starts.push(starts.at(-1)! + length / dimension);
  const tokens = starts.at(-1)!;
  const answers = new Float32Array(gold.length * 2 * tokens);
  const own = new Float32Array(gold.length * tokens);
  for (const [i, { ordinal, first, last }] of gold.entries()) {
    const at = ordinals.indexOf(ordinal);
    answers[2 * i * tokens + starts[at]! + first] = 1;
    answers[(2 * i + 1) * tokens + starts[at]! + last] = 1;
    own.fill(1, i * tokens + starts[at]!, i * tokens + starts[at + 1]!);
  }
  return {
    keys: { data: concat(keys), shape: [tokens, dimension] },
    answers: { data: answers, shape: [gold.length, 2, tokens] },
    own: { data: own, shape: [gold.length, 1, tokens] },
    weights: equalWeights(gold.map(() => true)),
  };
}

/** A phrase that a search found, and whether it is an answer. */
export type RatedPhrase = Pick<FoundPhrase, "ordinal" | "first" | "last"> & {
  readonly correct: boolean;
};

/** The keys of the first and the last tokens of the phrases of each question. */
export async function searchInput(
  index: Index,
  found: readonly (readonly RatedPhrase[])[],
): Promise<SearchLossInput<Tensor>> {
  const { dimension } = index.header;
  const most = Math.max(1, ...found.map(({ length }) => length));
  const shape = [found.length, most];
  const empty = (width: number): Float32Array => new Float32Array(found.length * most * width);
  const [starts, ends] = [empty(dimension), empty(dimension)];
  const [correct, present] = [empty(1), empty(1)];
  for (const [i, phrases] of found.entries())
    for (const [j, phrase] of phrases.entries()) {
      const at = i * most + j;
      const keys = await index.keys(phrase.ordinal, [phrase.first, phrase.last]);
      starts.set(keys.subarray(0, dimension), at * dimension);
      ends.set(keys.subarray(dimension), at * dimension);
      correct[at] = Number(phrase.correct);
      present[at] = 1;
    }
  return {
    starts: { data: starts, shape: [...shape, dimension] },
    ends: { data: ends, shape: [...shape, dimension] },
    correct: { data: correct, shape },
    present: { data: present, shape },
    weights: equalWeights(found.map((phrases) => phrases.some((phrase) => phrase.correct))),
  };
}

/** 1 / count for each that counts, else 0. */
function equalWeights(counts: readonly boolean[]): Tensor {
  const total = Math.max(1, counts.filter((counted) => counted).length);
  const data = Float32Array.from(counts, (counted) => (counted ? 1 / total : 0));
  return { data, shape: [counts.length] };
}

/** An answer in the passage that its question was asked about. */
export interface GoldPhrase {
  /** The position of the question among all questions. */
  readonly question: number;
  readonly ordinal: number;
  /** The first and the last token key of the answer. */
  readonly first: number;
  readonly last: number;
}

/**
 * Finds the first answer of each question that its passage contains as a phrase. Questions without
 * a passage in the index, or without such an answer, are left out.
 */
export async function* goldPhrases(
  index: Pick<IndexGeneration, "find" | "header" | "keys" | "passages">,
  questions: readonly TrainingQuestion[],
  placesOf: PlacesOf,
): AsyncGenerator<GoldPhrase, void> {
  for (const [question, { passageId, answers }] of questions.entries()) {
    const ordinal = passageId === undefined ? undefined : await index.find(passageId);
    if (ordinal === undefined) continue;
    const passage = (await index.passages([ordinal]))[0]!;
    const spans = answers.flatMap((answer) => findAnswerSpan(answer, passage.text) ?? []);
    const keys = (await index.keys(ordinal)).length / index.header.dimension;
    const places = await placesOf(passage, keys);
    const found = spans.map((span) => phraseTokens(places, span)).find((tokens) => tokens);
    if (found) yield { question, ordinal, ...found };
  }
}

/** @throws {InputError} if there is no phrase to train on */
export function checkGold(gold: readonly GoldPhrase[], data: string, index: string): void {
  if (gold.length > 0) return;
  throw new InputError({
    where: data,
    expected: `questions with a "passage_id" of ${index}, whose text contains the answer`,
    got: "none",
    remedy: "index the corpus of the questions, or give --steps 0 to train by search alone",
  });
}
