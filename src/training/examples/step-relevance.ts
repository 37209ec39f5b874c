/**
 * What the examples of a step know about each other's passages: which are positives of a question,
 * and which are relevant in another way and therefore no negatives.
 *
 * Source: DPR (Karpukhin et al. 2020), section 3.2: hard negatives do not contain the answer.
 */

import { answerTest, searchedText } from "../../evaluation/answers.ts";
import type { Passage } from "../../text/passage.ts";

/** What relevance depends on. */
export interface RelevanceExample {
  /** The candidates. */
  readonly passages: readonly Passage[];
  /** Ids of the passages that are known to be relevant. They need not be among `passages`. */
  readonly relevant: readonly string[];
  /** Ids of near copies of these: neither positives nor negatives. Default: none. */
  readonly copies?: readonly string[] | undefined;
  /** Texts that make a passage probably relevant, if it contains one of them. */
  readonly answers: readonly string[];
}

export interface Relevance {
  /**
   * Indexes among the passages of the example: those with a relevant id. If no relevant id is
   * known, those that contain an answer.
   */
  readonly positives: readonly number[];
  /** Other passages, also of earlier steps, that have a relevant id or contain an answer. */
  readonly notNegatives: readonly Passage[];
}

/** An answer that more of the passages contain does not show which of them are relevant. */
const MAX_SHARE = 0.5;

/**
 * The relevance of the passages of a step for each of its examples.
 *
 * @param earlier passages of earlier steps, which can be pre-batch negatives
 */
export function stepRelevance(
  examples: readonly RelevanceExample[],
  earlier: readonly Passage[] = [],
): Relevance[] {
  const passages = [...new Set([...examples.flatMap((example) => example.passages), ...earlier])];
  const searched = new Map(
    passages.map((passage) => [passage, [passage.title, passage.text].map(searchedText)]),
  );
  return examples.map((example): Relevance => {
    const hasId = ({ id }: Passage): boolean => example.relevant.includes(id);
    const tests = example.answers.map(answerTest);
    const found = passages.filter((passage) =>
      tests.some((contains) => searched.get(passage)!.some(contains)),
    );
    const withAnswer = new Set(found.length <= MAX_SHARE * passages.length ? found : []);
    const containsAnswer = (passage: Passage): boolean => withAnswer.has(passage);
    const isPositive = example.relevant.length > 0 ? hasId : containsAnswer;
    const positives = example.passages.flatMap((passage, k) => (isPositive(passage) ? [k] : []));
    const own = new Set(positives.map((k) => example.passages[k]!));
    const notNegatives = passages.filter(
      (passage) =>
        !own.has(passage) &&
        (hasId(passage) || example.copies?.includes(passage.id) || containsAnswer(passage)),
    );
    return { positives, notNegatives };
  });
}
