/**
 * Adds the token keys of earlier steps (pre-batch.ts) to the chunks of a batch, as negatives of
 * phrases. Letters of shapes: loss/graph-inputs.ts.
 */

import { type ModelConfig, vectorSize } from "../../model/config.ts";
import { MASKED } from "../../model/layers/attention.ts";
import type { Tensor } from "../../tensor/ops.ts";
import type { Chunk } from "../loss/batch.ts";
import {
  type ChunkPassages,
  type NormaliserOptions,
  normaliserBias,
} from "../loss/normaliser-bias.ts";
import { type LossGraphOptions, learnsPhrases, type ObjectiveName } from "../loss/options.ts";
import type { StepKeys } from "./pre-batch.ts";

interface EarlierBatch {
  readonly objective: ObjectiveName;
  /** Undefined: the run has no pre-batch negatives. */
  readonly earlier?: readonly StepKeys[] | undefined;
}

/** Returns a function that adds `earlierKeys` and `earlierBias` to a chunk that learns phrases. */
export function openEarlierKeys(
  config: ModelConfig,
  { objective, earlier }: EarlierBatch,
  options: NormaliserOptions & Pick<LossGraphOptions, "phraseLoss">,
): (chunk: Chunk) => Chunk {
  if (!(options.phraseLoss && earlier && learnsPhrases(objective))) return (chunk) => chunk;
  const size = vectorSize(config);
  const steps: ChunkPassages[] = earlier.map(({ names }) => ({ names, questions: [] }));
  const lengths = earlier.flatMap(({ passageMask }) => lengthsOf(passageMask));
  const keys = tokenKeys(earlier, lengths, size);
  return (chunk) => {
    const bias = normaliserBias([chunk.passages, ...steps], options);
    const earlierBias = biasOfTokens(bias, chunk.passages.names.length, lengths);
    const tensors = { ...chunk.tensors, earlierKeys: keys, earlierBias };
    return { ...chunk, earlierKeySize: size, tensors };
  };
}

/** The number of tokens of each passage: [U, m] -> [U]. */
function lengthsOf({ data, shape: [passages, m] }: Tensor): number[] {
  return Array.from({ length: passages! }, (_, passage) => {
    const padding = data.indexOf(0, passage * m!) - passage * m!;
    return padding < 0 || padding > m! ? m! : padding;
  });
}

const sumOf = (lengths: readonly number[]): number =>
  lengths.reduce((sum, length) => sum + length, 0);

/** The keys of all tokens without padding: [W, e]. In the first step, one that never counts. */
function tokenKeys(earlier: readonly StepKeys[], lengths: readonly number[], size: number): Tensor {
  const data = new Float32Array(Math.max(1, sumOf(lengths)) * size);
  let passage = 0;
  let at = 0;
  for (const { keys, passageMask } of earlier) {
    const [passages, m] = passageMask.shape as [number, number];
    for (let row = 0; row < passages; row++) {
      const [first, count] = [row * m * size, lengths[passage++]! * size];
      data.set(keys.data.subarray(first, first + count), at);
      at += count;
    }
  }
  return { data, shape: [data.length / size, size] };
}

/**
 * The bias of each token of earlier steps: that of its passage. [Q, columns] -> [Q, 1, W]
 *
 * @param first the column of the first passage of an earlier step
 */
function biasOfTokens(
  { data, shape: [questions, columns] }: Tensor,
  first: number,
  lengths: readonly number[],
): Tensor {
  const W = Math.max(1, sumOf(lengths));
  const values = new Float32Array(questions! * W).fill(MASKED);
  for (let question = 0; question < questions!; question++) {
    let at = question * W;
    for (const [passage, length] of lengths.entries()) {
      values.fill(data[question * columns! + first + passage]!, at, at + length);
      at += length;
    }
  }
  return { data: values, shape: [questions!, 1, W] };
}
