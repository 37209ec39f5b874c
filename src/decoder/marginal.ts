/**
 * The marginal reader: it reads one passage at a time, the null passage among them, and sums over
 * the passages.
 *
 *     P(y | x) = sum over passages z of P(y | x, z) P(z | x)
 *
 * Each passage alone gives a candidate, the answer y that the decoder generates from it. Every
 * distinct candidate is scored under every passage, so its sum is exact; the candidate with the
 * highest sum is the answer. P(z | x) is the softmax over the passages of retrieval scores and the
 * scale of the model, as in the training objective `marginal` (training/objectives/marginal.ts).
 *
 * Sources: Guu et al. 2020 (REALM), Eq. 1; Lewis et al. 2020, "Retrieval-Augmented Generation",
 * section 2.5: RAG-Sequence with "thorough decoding".
 */

import { answerLogLikelihoods } from "./answer-likelihoods.ts";
import { bestPlace, type Place } from "./quotation.ts";
import {
  fuseInputs,
  generateFused,
  type Reading,
  type ReadingInput,
  type ReadingModel,
  type ReadingOptions,
  readingBatches,
} from "./reader.ts";

/** A question with passages, the last of which is the null passage. */
export interface MarginalInput extends ReadingInput {
  /** log P(z | x) of each passage */
  readonly logPriors: readonly number[];
}

export interface MarginalReading {
  /** Without the start token; ends with `</s>` unless `maxTokens` cut the answer. */
  readonly tokenIds: readonly number[];
  /** log P(y | x), a natural logarithm */
  readonly logProbability: number;
  /** P(z | x, y) of each passage; the sum is 1. */
  readonly posteriors: readonly number[];
  /** Where the passages that gave this answer have it. */
  readonly places: readonly Place[];
}

/**
 * Reads an answer for each input. With `extractive`, the candidates are quotations of the passages,
 * and the null passage gives none.
 *
 * @throws the reason of `options.signal` once it is aborted.
 */
export async function readMarginal(
  model: ReadingModel,
  inputs: readonly MarginalInput[],
  options: Omit<ReadingOptions, "onToken"> = {},
): Promise<MarginalReading[]> {
  const readings = new Array<MarginalReading>(inputs.length);
  const lengths = inputs.map(
    ({ question, passages }) =>
      passages.length * (question.length + Math.max(...passages.map(({ length }) => length))),
  );
  for (const batch of readingBatches(model.config, lengths)) {
    const together = batch.map((i) => inputs[i]!);
    const answers = await readBatch(model, together, options);
    batch.forEach((i, row) => {
      readings[i] = answers[row]!;
    });
  }
  return readings;
}

async function readBatch(
  model: ReadingModel,
  inputs: readonly MarginalInput[],
  options: ReadingOptions,
): Promise<MarginalReading[]> {
  const pairs = inputs.flatMap(({ question, passages, stored, quotable }) =>
    passages.map((passage, i) => ({
      question,
      passages: [passage],
      stored: [stored?.[i]],
      quotable: quotable && [quotable[i]!],
    })),
  );
  const fused = await fuseInputs(model, pairs, options.signal);
  const generated = await generateFused(model, fused, pairs, options);
  const readings = groupsOf(inputs, generated);
  const candidates = readings.map((own) =>
    distinctAnswers(options.extractive ? own.slice(0, -1) : own),
  );
  const ofPairs = inputs.flatMap(({ passages }, i) => passages.map(() => candidates[i]!));
  const found = await answerLogLikelihoods(model, fused, pairs, ofPairs, options.signal);
  const likelihoods = groupsOf(inputs, found); // [passage][candidate] of each input
  return inputs.map(({ logPriors }, i) => {
    const best = bestAnswer(candidates[i]!, likelihoods[i]!, logPriors);
    return { ...best, places: placesOf(best.tokenIds, readings[i]!) };
  });
}

/** The best place in each passage that gave the answer. */
const placesOf = (tokenIds: readonly number[], readings: readonly Reading[]): Place[] =>
  readings.flatMap((reading, passage) => {
    if (reading.tokenIds.join() !== tokenIds.join()) return [];
    const place = bestPlace(reading.places);
    return place ? [{ ...place, passage }] : [];
  });

/** The values of all pairs, for each input those of its passages. */
function groupsOf<T>(inputs: readonly MarginalInput[], ofPairs: readonly T[]): T[][] {
  let end = 0;
  return inputs.map(({ passages }) => {
    const start = end;
    end += passages.length;
    return ofPairs.slice(start, end);
  });
}

/** The distinct answers, shortest first, so that answers of one length are scored together. */
function distinctAnswers(
  generated: readonly { readonly tokenIds: readonly number[] }[],
): (readonly number[])[] {
  const distinct = new Map(generated.map(({ tokenIds }) => [tokenIds.join(), tokenIds]));
  return [...distinct.values()].sort((a, b) => a.length - b.length);
}

/** @param likelihoods log P(y | x, z) of [passage][candidate] */
function bestAnswer(
  candidates: readonly (readonly number[])[],
  likelihoods: readonly (readonly number[])[],
  logPriors: readonly number[],
): Omit<MarginalReading, "places"> {
  const readings = candidates.map((tokenIds, candidate) => {
    const joint = logPriors.map((logPrior, z) => logPrior + likelihoods[z]![candidate]!);
    const logProbability = logSumExp(joint);
    const posteriors = joint.map((value) => Math.exp(value - logProbability));
    return { tokenIds, logProbability, posteriors };
  });
  return readings.reduce((a, b) => (b.logProbability > a.logProbability ? b : a));
}

/** `log sum_i exp(x_i)` */
export function logSumExp(values: readonly number[]): number {
  const highest = Math.max(...values);
  return highest + Math.log(values.reduce((sum, value) => sum + Math.exp(value - highest), 0));
}

/** `log P(z | x)` from retrieval scores r(x, z) of passages: the log softmax of `scale * r`. */
export function logPriorsOf(scores: readonly number[], scale: number): number[] {
  const scaled = scores.map((score) => scale * score);
  const normaliser = logSumExp(scaled);
  return scaled.map((value) => value - normaliser);
}
