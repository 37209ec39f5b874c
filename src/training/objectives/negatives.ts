/**
 * Which passages count in the in-batch normaliser Z of each question, see
 * cross-document-adjustment.ts. Letters of shapes: token-batch.ts.
 *
 * The passages of a question, D_q, are a union (ReAtt, section 3.2): a passage counts once, however
 * many questions of the batch have it as a candidate. It counts for a question if
 *
 * - the question has it as a target: a passage that can have a share of the target distribution;
 * - or it is a negative: a candidate of any question, or a passage of an earlier step
 *   (../gradient-cache/pre-batch.ts), that is not known to be relevant.
 */

import { MASKED } from "../../model/layers/attention.ts";
import {
  type NamedTensor,
  passageName,
  perCandidate,
  type TokenBatch,
  type TokenExample,
  zeros,
} from "./token-batch.ts";

export interface Negatives {
  /** Whether the candidates of the other questions are negatives of a question. Default true. */
  readonly inBatchNegatives?: boolean | undefined;
  /**
   * `each` counts a passage as often as questions of the batch have it, as the code of the paper
   * does. The probability of such a passage cannot reach 1. Default `once`.
   */
  readonly copies?: "once" | "each" | undefined;
}

type Targets = (example: TokenExample) => readonly (readonly number[])[];

/** Targets of questions whose relevant passages are known. */
export const positivesOf: Targets = ({ passages, positives = [] }) =>
  positives.map((candidate) => passages[candidate]!);

/** Targets of questions whose relevant passages are not known. */
export const candidatesOf: Targets = ({ passages }) => passages;

/**
 * - `bias` [Q, U]: 0 for the passages that count in the normaliser of a question, else MASKED
 * - `counted` [Q, K]: 1 for the candidates of a question that count in it
 */
export function countedPassages(
  batch: TokenBatch,
  targetsOf: Targets,
  { inBatchNegatives = true, copies = "once" }: Negatives = {},
): Record<"bias" | "counted", NamedTensor> {
  const bias = zeros(batch, "Q", "U");
  bias.data.fill(MASKED);
  const columns = new Map(batch.names.map((name, column) => [name, column]));
  const counts = copies === "each" && inBatchNegatives ? countCopies(batch) : undefined;
  for (const [question, example] of batch.examples.entries()) {
    const isCounted = countedBy(example, targetsOf);
    const names = inBatchNegatives ? batch.names : example.passages.map(passageName);
    for (const name of names)
      if (isCounted(name))
        bias.data[question * batch.sizes.U + columns.get(name)!] = Math.log(counts?.get(name) ?? 1);
  }
  const counted = perCandidate(batch, (example) => {
    const isCounted = countedBy(example, targetsOf);
    return example.passages.map((passage) => Number(isCounted(passageName(passage))));
  });
  return { bias, counted };
}

/** Whether a candidate of the batch counts in the normaliser of a question. */
function countedBy(example: TokenExample, targetsOf: Targets): (name: string) => boolean {
  const targets = new Set(targetsOf(example).map(passageName));
  const notNegatives = new Set(example.notNegatives?.map(passageName));
  return (name) => targets.has(name) || !notNegatives.has(name);
}

/** How many questions have each passage as a candidate. */
function countCopies({ whole }: TokenBatch): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { passages } of whole)
    for (const name of passages.map(passageName)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
