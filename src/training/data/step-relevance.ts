/**
 * What the examples of a step know about each other's passages: which are positives of a question,
 * and which are relevant in another way and therefore no negatives.
 *
 * Source: DPR (Karpukhin et al. 2020), section 3.2: hard negatives do not contain the answer.
 */

import { matchForm } from "../../evaluation/answers.ts";
import type { Passage } from "../../text/passage.ts";
import type { TextExample } from "./example-source.ts";

export interface Relevance {
  /**
   * Indexes among the passages of the example: those with a relevant id. If no relevant id is known,
   * those that contain an answer.
   */
  readonly positives: readonly number[];
  /** Other passages, also of earlier steps, that have a relevant id or contain an answer. */
  readonly notNegatives: readonly Passage[];
}

/**
 * The relevance of the passages of a step for each of its examples.
 *
 * @param earlier passages of earlier steps, which can be pre-batch negatives
 */
export function stepRelevance(
  examples: readonly TextExample[],
  earlier: readonly Passage[] = [],
): Relevance[] {
  const passages = [...new Set([...examples.flatMap((example) => example.passages), ...earlier])];
  const forms = new Map(passages.map((passage) => [passage, formsOf(passage)]));
  return examples.map((example): Relevance => {
    const hasId = ({ id }: Passage): boolean => example.relevant.includes(id);
    const answers = example.answers.map(matchForm).filter((form) => form.trim() !== "");
    const containsAnswer = (passage: Passage): boolean =>
      answers.some((answer) => forms.get(passage)!.some((form) => form.includes(answer)));
    const isPositive = example.relevant.length > 0 ? hasId : containsAnswer;
    const positives = example.passages.flatMap((passage, k) => (isPositive(passage) ? [k] : []));
    const own = new Set(positives.map((k) => example.passages[k]!));
    const notNegatives = passages.filter(
      (passage) => !own.has(passage) && (hasId(passage) || containsAnswer(passage)),
    );
    return { positives, notNegatives };
  });
}

const formsOf = ({ title, text }: Passage): string[] => [matchForm(title), matchForm(text)];
