/**
 * Retrieval utility: how much a passage z helps the decoder to give an accepted answer to x.
 *
 *     RU(z | x) = log P(Y | x, z) - log P(Y | x, null passage)
 *     P(Y | x, z) = sum over accepted answers y of P(y | x, z)
 *
 * Each passage is read alone. The null passage stands for reading nothing.
 *
 * Source: Guu et al. 2020 (REALM), appendix D, Eq. 2, which has one answer y.
 */

import { type Given, type Resolved, SIGNAL } from "../options/option.ts";
import { NULL_PASSAGE, type PassageInput } from "../text/passage.ts";
import type { Tokenizer } from "../text/tokens/tokenizer.ts";
import { answerLogLikelihoods } from "./answer-likelihoods.ts";
import { READ_OPTIONS, readingInput, type TokenizedQuestion } from "./answers.ts";
import { logSumExp } from "./marginal.ts";
import { fuseInputs, type ReadingModel } from "./reader.ts";
import { wholePassages } from "./windows.ts";

/** Options of `ReAtt.retrievalUtility`. */
export const UTILITY_OPTIONS = {
  /** Longer passages are truncated. Default 512. */
  maxPassageTokens: READ_OPTIONS.maxPassageTokens,
  /** Limit for question and passage together. Default: no limit of this kind. */
  maxInputTokens: READ_OPTIONS.maxInputTokens,
  ...SIGNAL,
};

export interface UtilityOptions extends Given<typeof SIGNAL>, Given<typeof UTILITY_OPTIONS> {}

/**
 * RU(z | x) of each passage, natural logarithms in the order of the passages.
 *
 * @param answers the accepted answers, one or more; answers with equal tokens count once
 * @throws the reason of `options.signal` once it is aborted.
 */
export async function retrievalUtilities(
  model: ReadingModel & { readonly tokenizer: Tokenizer },
  question: TokenizedQuestion,
  answers: readonly string[],
  passages: readonly PassageInput[],
  options: Resolved<typeof UTILITY_OPTIONS>,
): Promise<number[]> {
  const { tokenizer } = model;
  const read = readingInput(
    tokenizer,
    question,
    wholePassages([...passages, NULL_PASSAGE].map((passage) => ({ passage }))),
    options,
  );
  const pairs = read.passages.map((passage) => ({ question: read.question, passages: [passage] }));
  const tokenIds = answers.map((answer) => [...tokenizer.encode(answer), tokenizer.eosId]);
  const accepted = [...new Map(tokenIds.map((ids) => [ids.join(), ids])).values()];
  const fused = await fuseInputs(model, pairs, options.signal);
  const ofPairs = pairs.map(() => accepted);
  const found = await answerLogLikelihoods(model, fused, pairs, ofPairs, options.signal);
  const likelihoods = found.map(logSumExp); // log P(Y | x, z)
  const withoutPassage = likelihoods.pop()!;
  return likelihoods.map((likelihood) => likelihood - withoutPassage);
}
