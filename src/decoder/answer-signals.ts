/** The signals of a generated answer that its calibrated confidence is computed from. */

import { mean } from "../math/mean.ts";
import type { AnswerSignals } from "../model/answer-calibration.ts";
import type { PassageInput } from "../text/passage.ts";
import type { Span } from "../text/span.ts";
import type { Generated } from "./generate.ts";
import { missingSignals, missingSpecifics, specificsOf, unmatchedShare } from "./support.ts";

/** A passage that was read, with the span of the answer in it. */
interface ReadPassage extends Pick<PassageInput, "title" | "text"> {
  readonly attention: number;
  readonly span?: Span | undefined;
}

/** How well passages match a question. */
export interface Match {
  /** The retrieval scores of the passages that were read. */
  readonly similarities: readonly number[];
  /** The next passage, which was found but not read, with its retrieval score. */
  readonly next?: { readonly text: string; readonly similarity: number } | undefined;
  /** The specifics of the question (support.ts) that some passage of the index has. */
  readonly known?: ReadonlySet<string> | undefined;
}

export function answerSignals(
  question: string,
  { logProbabilities, margins, emptiness }: Generated,
  passages: readonly ReadPassage[],
  match: Match | undefined,
): AnswerSignals {
  const quoting = passages.filter(({ span }) => span);
  const missing = missingSpecifics(specificsOf(question), quoting.length > 0 ? quoting : passages);
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
    ...(match && matchSignals(match, passages)),
    unmatched: unmatchedShare(question, passages),
    emptiness,
    ...missingSignals(missing, match?.known),
  };
}

/** A copy of the best passage does not compete with it. */
function matchSignals(
  { similarities, next }: Match,
  passages: readonly ReadPassage[],
): Pick<AnswerSignals, "similarity" | "lead"> {
  const similarity = Math.max(...similarities);
  const { text } = passages[similarities.indexOf(similarity)]!;
  const others = similarities.filter((_, i) => passages[i]!.text !== text);
  if (next && next.text !== text) others.push(next.similarity);
  const second = Math.max(...others);
  return { similarity, lead: Number.isFinite(second) ? similarity - second : undefined };
}
