/** Divides a batch into chunks. Letters of shapes: objectives/token-batch.ts. */

import type { ModelConfig } from "../../model/config.ts";
import type { Sequences } from "../objectives/dropout.ts";
import { passageName, type TokenExample } from "../objectives/examples.ts";
import { isRead } from "../objectives/forward.ts";
import { modelInputs } from "../objectives/model-inputs.ts";
import { inputsOf, type Objective } from "../objectives/objective.ts";
import { allNeeds, type StepPlan } from "../objectives/passes.ts";
import {
  type NamedTensor,
  scalar,
  type TokenBatch,
  tokenBatch,
} from "../objectives/token-batch.ts";

/** Examples of a batch that are computed together. */
export interface Chunk {
  readonly batch: TokenBatch;
  /** The inputs of the model and of the objectives. */
  readonly tensors: Readonly<Record<string, NamedTensor>>;
  /** The token sequences in tensors with the second axis n, m, n+m or T, for dropout. */
  readonly sequences: Readonly<Record<"n" | "m" | "n+m" | "T", Sequences>>;
}

/**
 * Divides a batch into chunks of `size` questions.
 *
 * @param examples with different candidates each
 * @param objectives those that the chunks compute
 */
export function chunksOf(
  config: ModelConfig,
  examples: readonly TokenExample[],
  size: number,
  plan: StepPlan,
  objectives: readonly Objective[],
): Chunk[] {
  const reads = isRead(allNeeds(plan));
  const questions = learningQuestions(examples, plan.objectives);
  return Array.from({ length: Math.ceil(examples.length / size) }, (_, i) => {
    const first = i * size;
    const batch = tokenBatch(examples.slice(first, first + size), examples);
    const inputs = modelInputs(config, batch, reads);
    const common = { questions, isCandidate: inputs.isCandidate };
    return {
      batch,
      tensors: { ...inputs, ...inputsOf(objectives, common, batch) },
      sequences: sequencesOf(batch, first),
    };
  });
}

/** The questions that some objective trains, at least 1: -> []. */
export const learningQuestions = (
  examples: readonly TokenExample[],
  objectives: readonly Objective[],
): NamedTensor =>
  scalar(
    Math.max(1, examples.filter((example) => objectives.some((one) => one.trains(example))).length),
  );

/**
 * The names of sequences determine their dropout masks. They do not depend on the chunk.
 *
 * @param first the index in the batch of the chunk's first example
 */
function sequencesOf(
  { passages, sizes: { Q, K, n, m, T } }: TokenBatch,
  first: number,
): Chunk["sequences"] {
  const names = Array.from({ length: Q }, (_, i) => `${first + i}`);
  const pairs = Array.from(
    { length: Q * K },
    (_, pair) => `${names[Math.floor(pair / K)]} ${pair % K}`,
  );
  return {
    n: { names: [...names.map((name) => `${name} </s>`), ...names], length: n, origin: n },
    m: { names: passages.map(passageName), length: m, origin: 0 },
    "n+m": { names: pairs, length: n + m, origin: n },
    T: { names, length: T, origin: 0 },
  };
}
