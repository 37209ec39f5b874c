/**
 * Which passages count in the in-batch normaliser Z of each question, see
 * cross-document-adjustment.ts. Letters of shapes: graph-inputs.ts.
 *
 * The passages of a question, D_q, are a union (ReAtt, section 3.2): a passage counts once, however
 * many questions of the batch have it as a candidate. It counts for a question if
 *
 * - the question has it as a target: a positive if its target is known, otherwise any candidate;
 * - or it is a negative: a candidate of any question, or a passage of an earlier step
 *   (../gradient-cache/pre-batch.ts), that is not known to be relevant.
 */

import { MASKED } from "../../model/layers/attention.ts";
import type { Tensor } from "../../tensor/ops.ts";

export interface NormaliserOptions {
  /** Whether the candidates of the other questions are negatives of a question. */
  readonly inBatchNegatives: boolean;
  /**
   * `each` counts a passage as often as questions of the batch have it, for comparisons. The
   * probability of such a passage cannot reach 1. Default `once`.
   */
  readonly copies?: "once" | "each" | undefined;
}

/** The passages of a question, by name. */
export interface QuestionPassages {
  readonly candidates: ReadonlySet<string>;
  /** The candidates that can have a target above 0. */
  readonly targets: ReadonlySet<string>;
  /** Passages that are relevant, or probably relevant. */
  readonly notNegatives: ReadonlySet<string>;
}

/** The passages of a chunk, or of an earlier step, which has no questions. */
export interface ChunkPassages {
  /** The names of the different passages, in the order of their rows. [U] */
  readonly names: readonly string[];
  /** [Q] */
  readonly questions: readonly QuestionPassages[];
}

/** Equal passages have equal token ids. */
export const passageName = (ids: readonly number[]): string => ids.join();

/** Whether a candidate of the batch counts in the normaliser of a question. */
export const isCounted = ({ targets, notNegatives }: QuestionPassages, name: string): boolean =>
  targets.has(name) || !notNegatives.has(name);

/**
 * The bias of each passage in the normaliser of each question: 0 if it counts, else MASKED.
 * -> float32 [Q, U], for the passages of all `chunks` side by side.
 *
 * If several chunks have a passage, its copy in the question's own chunk counts, or else the first
 * one. Copies have equal keys, because dropout is drawn by name.
 */
export function normaliserBias(
  chunks: readonly ChunkPassages[],
  { inBatchNegatives, copies = "once" }: NormaliserOptions,
): Tensor {
  const columns = chunks.flatMap(({ names }) => names);
  const firstColumns = columnsOf(columns, 0);
  const copyCounts = countCopies(chunks);
  const questions = chunks.reduce((sum, chunk) => sum + chunk.questions.length, 0);
  const data = new Float32Array(questions * columns.length).fill(MASKED);
  let row = 0;
  let firstColumn = 0;
  for (const { names, questions: ofChunk } of chunks) {
    const columnOf = new Map([...firstColumns, ...columnsOf(names, firstColumn)]);
    for (const question of ofChunk) {
      for (const name of inBatchNegatives ? columnOf.keys() : question.candidates) {
        if (!isCounted(question, name)) continue;
        const count = inBatchNegatives && copies === "each" ? (copyCounts.get(name) ?? 1) : 1;
        data[row * columns.length + columnOf.get(name)!] = Math.log(count);
      }
      row++;
    }
    firstColumn += names.length;
  }
  return { data, shape: [questions, columns.length] };
}

/** The first column of each name, counted from `first`. */
function columnsOf(names: readonly string[], first: number): Map<string, number> {
  const columns = new Map<string, number>();
  for (const [i, name] of names.entries()) if (!columns.has(name)) columns.set(name, first + i);
  return columns;
}

/** How many questions have each passage as a candidate. */
function countCopies(chunks: readonly ChunkPassages[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { questions } of chunks)
    for (const { candidates } of questions)
      for (const name of candidates) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
