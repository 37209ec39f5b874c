/** The examples that train phrase queries: questions, and where their answers stand in an index. */

import { InputError } from "../../io/errors.ts";
import { phraseTokens } from "../../retrieval/phrases/best-phrases.ts";
import type { IndexGeneration } from "../../retrieval/search/generation.ts";
import type { PlacesOf } from "../../retrieval/search-phrases.ts";
import { findAnswerSpan } from "../../text/answer-span.ts";
import type { TrainingQuestion } from "../examples/training-questions.ts";

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
