/** Retrieval utility over many questions (decoder/retrieval-utility.ts explains it). */

import { z } from "zod";
import { mean } from "../math/mean.ts";
import { checkData } from "../options/data.ts";

export interface UtilityEvaluation {
  /** The number of questions. */
  readonly questions: number;
  /** The mean utility of the passage at each rank, over the questions that have one there. */
  readonly byRank: readonly number[];
  /**
   * The share of questions whose first passage has a utility above 0: it makes an accepted answer
   * more probable. A question without passages counts 0.
   */
  readonly helped: number;
}

const utilityLists = z.array(
  z.array(z.number("a number"), "a list of utilities"),
  "a list of lists of utilities",
);

/**
 * Means of the retrieval utility.
 *
 * @param utilities for each question, those of its passages, best passage first
 *
 * @example
 * ```ts
 * import { evaluateUtility } from "reatt/evaluation";
 *
 * const { byRank, helped } = evaluateUtility([[2, -1], [-1]]);
 * console.log(byRank, helped); // [ 0.5, -1 ] 0.5
 * ```
 */
export function evaluateUtility(utilities: readonly (readonly number[])[]): UtilityEvaluation {
  const where = { where: "utilities", remedy: "take them from retrievalUtility of the model" };
  checkData(utilityLists, utilities, where);
  const depth = utilities.reduce((most, { length }) => Math.max(most, length), 0);
  const atRank = (rank: number): number[] =>
    utilities.flatMap((own) => (rank < own.length ? [own[rank]!] : []));
  return {
    questions: utilities.length,
    byRank: Array.from({ length: depth }, (_, rank) => mean(atRank(rank))),
    helped: mean(utilities.map(([first = 0]) => Number(first > 0))),
  };
}
