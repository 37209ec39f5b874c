/** The signals of a generated answer that its calibrated confidence is computed from. */

import { mean } from "../math/mean.ts";
import type { AnswerSignals } from "../model/answer-calibration.ts";
import type { Span } from "../text/span.ts";
import type { Generated } from "./generate.ts";

/** @param passages the passages that were read, with the span of the answer in each */
export function answerSignals(
  { logProbabilities, margins }: Generated,
  passages: readonly { readonly attention: number; readonly span?: Span | undefined }[],
): AnswerSignals {
  const quoting = passages.filter(({ span }) => span);
  return {
    likelihood: mean(logProbabilities),
    margin: Math.min(
      ...logProbabilities.map(
        // p(token) - p(other), with log p(other) = log p(token) - margin
        (logProbability, i) => Math.exp(logProbability) - Math.exp(logProbability - margins[i]!),
      ),
    ),
    attention: quoting.reduce((sum, { attention }) => sum + attention, 0),
    length: Math.log(logProbabilities.length),
    quoted: Number(quoting.length > 0),
  };
}
