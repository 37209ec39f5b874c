/** Batches of texts, for custom training loops. */

import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import {
  checkPassageLists,
  checkPath,
  checkQuestionList,
  checkTexts,
} from "../../options/arguments.ts";
import { resolveOptions } from "../../options/resolve.ts";
import type { Passage } from "../../text/passage.ts";
import { passageIds, retrievalQuestionIds } from "../../text/tokens/prompts.ts";
import type { Tokenizer } from "../../text/tokens/tokenizer.ts";
import type { TokenExample } from "../objectives/token-batch.ts";

/** Questions with one answer and some candidate passages each. */
export interface TextBatch {
  /** A question for each example. */
  readonly questions: readonly string[];
  /** The answer of each question. */
  readonly answers: readonly string[];
  /** The candidates of each question. */
  readonly passages: readonly (readonly Passage[])[];
}

/** A batch of a training step, with what is known of the passages. */
export interface TrainingBatch extends TextBatch {
  /**
   * For each question, the indexes of the passages that are known to be relevant. Default: none is
   * known.
   */
  readonly positives?: readonly (readonly number[])[] | undefined;
  /** For each question, a score of each passage, such as that of a ranker. Default: none. */
  readonly scores?: readonly (readonly number[])[] | undefined;
}

const numbers = (name: string) =>
  z
    .array(
      z.array(z.number(), "a list of numbers").readonly(),
      `a list of ${name} for each question`,
    )
    .readonly();

/** The properties of a batch; `checkBatch` checks the values of the first three. */
const BATCH = {
  ...{ questions: z.unknown(), answers: z.unknown(), passages: z.unknown() },
  positives: numbers("indexes").optional(),
  scores: numbers("scores").optional(),
};

/** @throws {InputError} unless `model` is a folder or was loaded from one */
export function folderOf(model: unknown): string {
  const folder = (model as { readonly folder?: unknown } | null | undefined)?.folder ?? model;
  checkPath(folder, "model");
  return folder;
}

/** @throws {InputError} unless each question has an answer and one or more passages */
export function checkBatch(batch: TrainingBatch): void {
  const { questions, answers, passages } = resolveOptions(BATCH, { ...batch }, "batch");
  checkQuestionList(questions);
  if (questions.length === 0)
    throw problem("questions", "one or more", "none", "give a question with its passages");
  checkTexts(answers, "answers", questions.length);
  checkPassageLists(passages, questions.length);
  const lists = passages as readonly unknown[][];
  const empty = lists.findIndex(({ length }) => length === 0);
  if (empty >= 0)
    throw problem(`passages[${empty}]`, "one or more", "none", "give candidates of the question");
  for (const [i, { length }] of lists.entries()) checkKnown(batch, i, length);
}

/** What is known of the passages of a question. */
function checkKnown({ positives, scores }: TrainingBatch, question: number, count: number): void {
  for (const [name, lists] of Object.entries({ positives, scores }))
    if (lists && !lists[question])
      throw problem(name, "a list for each question", `${lists.length}`, "give one for each");
  const known = positives?.[question] ?? [];
  const outside = known.find((index) => !Number.isInteger(index) || index < 0 || index >= count);
  if (outside !== undefined)
    throw problem(
      `positives[${question}]`,
      `indexes from 0 to ${count - 1}`,
      excerpt(outside),
      "give the places of relevant passages",
    );
  const given = scores?.[question]?.length ?? count;
  if (given !== count)
    throw problem(`scores[${question}]`, `${count} numbers`, `${given}`, "score each passage");
}

const problem = (where: string, expected: string, got: string, remedy: string): InputError =>
  new InputError({ where, expected, got, remedy });

/** A question with an empty answer trains retrieval only. */
export const tokenExamples = (
  tokenizer: Tokenizer,
  { questions, answers, passages, positives, scores }: TrainingBatch,
  maxPassageTokens: number,
): TokenExample[] =>
  questions.map((question, i) => ({
    question: retrievalQuestionIds(tokenizer, question),
    answer: answers[i] === "" ? [] : [...tokenizer.encode(answers[i]!), tokenizer.eosId],
    passages: passages[i]!.map((passage) => passageIds(tokenizer, passage, maxPassageTokens)),
    positives: positives?.[i],
    isLabelled: (positives?.[i]?.length ?? 0) > 0,
    scores: scores?.[i],
  }));
