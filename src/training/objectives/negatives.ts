/**
 * Which passages count in the in-batch normaliser Z of each question, see
 * cross-document-adjustment.ts. Letters of shapes: token-batch.ts.
 *
 * The passages of a question, D_q, are a union (ReAtt, section 3.2): a passage counts once, however
 * many questions of the batch have it as a candidate. It counts for a question if
 *
 * - the question has it as a target: a passage that can have a share of the target distribution;
 * - or it is a negative: a candidate of any question, or a passage of an earlier step
 *   (../gradient-cache/pre-batch.ts), that is not known to be relevant. With `relevantNegatives` it
 *   can be, as in the paper.
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
   * Whether a passage is a negative, too, that has a relevant id or contains an answer but is no
   * target: D_q as the paper has it. Default false.
   */
  readonly relevantNegatives?: boolean | undefined;
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
  { inBatchNegatives = true, relevantNegatives = false }: Negatives = {},
): Record<"bias" | "counted", NamedTensor> {
  const bias = zeros(batch, "Q", "U");
  bias.data.fill(MASKED);
  const columns = new Map(batch.names.map((name, column) => [name, column]));
  for (const [question, example] of batch.examples.entries()) {
    const isCounted = countedBy(example, targetsOf, relevantNegatives);
    const names = inBatchNegatives ? batch.names : example.passages.map(passageName);
    for (const name of names)
      if (isCounted(name)) bias.data[question * batch.sizes.U + columns.get(name)!] = 0;
  }
  const counted = perCandidate(batch, (example) => {
    const isCounted = countedBy(example, targetsOf, relevantNegatives);
    return example.passages.map((passage) => Number(isCounted(passageName(passage))));
  });
  return { bias, counted };
}

/** Whether a candidate of the batch counts in the normaliser of a question. */
function countedBy(
  example: TokenExample,
  targetsOf: Targets,
  relevantNegatives: boolean,
): (name: string) => boolean {
  if (relevantNegatives) return () => true;
  const targets = new Set(targetsOf(example).map(passageName));
  const notNegatives = new Set(example.notNegatives?.map(passageName));
  return (name) => targets.has(name) || !notNegatives.has(name);
}
