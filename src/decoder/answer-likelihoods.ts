/**
 * The likelihood of given answers by forced decoding: the decoder reads the tokens of an answer one
 * by one, whatever it would generate itself.
 *
 *     log P(y | x, z) = sum over tokens t of log P(y_t | y_<t, x, z)
 *
 * x is a question and z what is read for it: one passage, or several that are fused.
 */

import { tokenLogProbabilities } from "./copying.ts";
import type { FusedPassages } from "./fusion.ts";
import { decoderSteps, type ReadingInput, type ReadingModel } from "./reader.ts";

/** Rows of one step. With a vocabulary of 32,128, the logits of 512 rows have 66 MB. */
const ROWS_PER_STEP = 512;

/**
 * `log P(y | x, z)` of the answers of each input, natural logarithms in their order. The answers of
 * an input run side by side and share its passages.
 *
 * @param answers for each input, the token ids of one or more answers
 * @throws the reason of `signal` once it is aborted.
 */
export async function answerLogLikelihoods(
  model: Pick<ReadingModel, "config" | "reader">,
  fused: FusedPassages,
  inputs: readonly ReadingInput[],
  answers: readonly (readonly (readonly number[])[])[],
  signal?: AbortSignal,
): Promise<number[][]> {
  const count = Math.max(...answers.map((own) => own.length));
  const width = Math.max(1, Math.floor(ROWS_PER_STEP / inputs.length));
  const likelihoods: number[][] = inputs.map(() => []);
  for (let first = 0; first < count; first += width) {
    const columns = answers.map((own) => own.slice(first, first + width));
    const found = await likelihoodsOf(model, fused, inputs, columns, signal);
    found.forEach((row, i) => {
      likelihoods[i]!.push(...row);
    });
  }
  return likelihoods;
}

/** The same for answers that fit in one step. */
async function likelihoodsOf(
  { config, reader }: Pick<ReadingModel, "config" | "reader">,
  fused: FusedPassages,
  inputs: readonly ReadingInput[],
  answers: readonly (readonly (readonly number[])[])[],
  signal?: AbortSignal,
): Promise<number[][]> {
  const width = Math.max(...answers.map((own) => own.length));
  const rows = answers.flatMap((own) => Array.from({ length: width }, (_, i) => own[i] ?? []));
  const totals = new Float64Array(rows.length);
  const step = decoderSteps(reader, fused, inputs);
  const longest = Math.max(...rows.map(({ length }) => length));
  for (let t = 0; t < longest; t++) {
    signal?.throwIfAborted();
    // All answers of an input begin with the start token: the first step has one row for them.
    const last = t === 0 ? inputs.map(() => config.decoderStartId) : rows.map((ids) => ids[t - 1]);
    const { logits, copy } = await step(
      Int32Array.from(last, (id) => id ?? config.padId),
      Int32Array.from(last, (_, row) => (t === 1 ? Math.floor(row / width) : row)),
    );
    const next = rows.map((ids) => ids[t]);
    const wanted =
      t === 0
        ? inputs.map((_, i) => next.slice(i * width, (i + 1) * width))
        : next.map((token) => [token]);
    for (const [row, value] of tokenLogProbabilities(logits, wanted, copy).flat().entries())
      totals[row]! += value;
  }
  return answers.map((own, i) => [...totals.subarray(i * width, i * width + own.length)]);
}
