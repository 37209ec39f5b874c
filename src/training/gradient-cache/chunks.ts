/**
 * Divides a batch into chunks, each with its dropout. Letters of shapes: objectives/token-batch.ts.
 */

import type { ModelConfig } from "../../model/config.ts";
import { type Graph, trace, type Value } from "../../tensor/trace.ts";
import { dropoutPools, dropoutRows, type Sequences, tracedDropout } from "../objectives/dropout.ts";
import { isRead } from "../objectives/forward.ts";
import { modelInputs, teacherInputs } from "../objectives/model-inputs.ts";
import { inputsOf, type Objective } from "../objectives/objective.ts";
import {
  allNeeds,
  type ChunkInputs,
  forwardContext,
  forwardPass,
  graphName,
  type StepPlan,
  type StepSettings,
  type Tensors,
} from "../objectives/passes.ts";
import {
  type NamedTensor,
  passageName,
  scalar,
  signaturesOf,
  type TokenBatch,
  type TokenExample,
  tokenBatch,
} from "../objectives/token-batch.ts";
import { buildTrainedParameters } from "../objectives/trained-parameters.ts";

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
  const reads = isRead(allNeeds(plan), plan);
  const questions = learningQuestions(examples, plan.objectives);
  return Array.from({ length: Math.ceil(examples.length / size) }, (_, i) => {
    const first = i * size;
    const batch = tokenBatch(examples.slice(first, first + size), examples);
    const inputs = {
      ...modelInputs(config, batch, reads),
      ...(plan.isTaught && teacherInputs(batch)),
    };
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

/** Determines all random values. */
export type DropoutKey = readonly (number | string)[];

/** Returns a function that draws the dropout inputs of each chunk. */
export function openChunkDropout(
  config: ModelConfig,
  settings: StepSettings,
): (plan: StepPlan, chunks: readonly Chunk[], key: DropoutKey) => Tensors[] {
  const graphs = new Map<string, Graph>();
  const graphOf = (plan: StepPlan, chunk: Chunk): Graph => {
    const name = graphName(plan, chunk.tensors);
    const graph = graphs.get(name) ?? traceChunk(config, settings, plan, chunk);
    graphs.set(name, graph);
    return graph;
  };
  return (plan, chunks, key) => {
    if (settings.dropout === 0) return chunks.map(() => ({}));
    const pools = dropoutPools(graphOf(plan, chunks[0]!), settings.dropout, key);
    return chunks.map((chunk) => ({
      ...pools,
      ...dropoutRows(graphOf(plan, chunk), chunk.sequences, key),
    }));
  };
}

/** The forward pass of a chunk. Its inputs tell which random values dropout takes. */
function traceChunk(
  config: ModelConfig,
  settings: StepSettings,
  plan: StepPlan,
  { tensors }: Chunk,
): Graph {
  return trace(signaturesOf(tensors), (tracer, input) => {
    const dropout = tracedDropout(tracer, settings.dropout);
    const trained = buildTrainedParameters(tracer, config, settings, (name, shape) =>
      tracer.parameter(name, shape),
    );
    const contexts = forwardContext(tracer, config, settings, dropout);
    return forwardPass(contexts, trained, input as ChunkInputs<Value>, plan);
  });
}
