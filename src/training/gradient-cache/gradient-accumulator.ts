/** Computes losses and gradients of batches chunk by chunk (loss-graph.ts says why), and sums them up. */

import type { ModelConfig } from "../../model/config.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { type Graph, trace } from "../../tensor/trace.ts";
import { type Chunk, chunksOf, type TokenExample } from "../loss/batch.ts";
import { dropoutPools, dropoutRows, tracedDropout } from "../loss/dropout.ts";
import { chunkSignature, type ObjectiveName } from "../loss/graph-inputs.ts";
import { chunkObjective } from "../loss/loss-graph.ts";
import { trainedParameters } from "../loss/trained-parameters.ts";
import { divideCompetition, joinChunks } from "./exchange.ts";
import type { GradientSteps, StepOptions, Tensors } from "./gradient-steps.ts";

export interface AccumulatorOptions extends StepOptions {
  readonly inBatchNegatives: boolean;
}

/** Losses of a batch; what concerns retrieval is there if it is trained. */
export interface BatchLosses {
  /** Negative log likelihood of the answers, for each of their tokens. */
  readonly nll: number;
  /** Minus the log of the attention's share that falls on the answer, for each of its tokens; there if it has a weight. */
  readonly copyAttention?: number;
  /** What is minimised. */
  readonly loss: number;
  readonly retrieval?: {
    /** [questions][passages of the question's chunk], before `exp(logScale)` */
    readonly scores: readonly (readonly number[])[];
    /** [questions][passages of a question], log of the retrieval distribution */
    readonly ownLogProbabilities: readonly (readonly number[])[];
  };
  readonly distillation?: {
    readonly kl: number;
    /** [questions][passages of a question] */
    readonly target: readonly (readonly number[])[];
  };
}

type Key = readonly (number | string)[];

export interface Batch {
  /** All have equally many passages. */
  readonly examples: readonly TokenExample[];
  /** Questions that are computed together. */
  readonly chunkQuestions: number;
  readonly objective: ObjectiveName;
  /** Determines the dropout. */
  readonly key: Key;
}

/** Adds the gradients of a batch to those that `steps` holds. */
export type GradientAccumulator = (batch: Batch) => Promise<BatchLosses>;

export function gradientAccumulator(
  config: ModelConfig,
  steps: GradientSteps,
  options: AccumulatorOptions,
): GradientAccumulator {
  const drawDropout = dropoutOfChunks(config, options);

  /** Steps 1 and 2 of the gradient cache: what the other chunks are to each chunk. */
  const compete = async (
    chunks: readonly Chunk[],
    dropout: readonly Tensors[],
  ): Promise<Tensors[]> => {
    const vectors: Tensors[] = [];
    for (const [i, chunk] of chunks.entries())
      vectors.push(await steps.vectors(chunk, dropout[i]!));
    return divideCompetition(chunks, await steps.competition(joinChunks(chunks, vectors)));
  };

  return async ({ examples, chunkQuestions, objective, key }) => {
    const { inBatchNegatives } = options;
    const chunks = chunksOf(config, examples, chunkQuestions, inBatchNegatives);
    const dropout = drawDropout(chunks, objective, key);
    const competing = objective === "distillation" || objective === "supervised";
    const shared = chunks.length > 1 && competing && inBatchNegatives;
    const caches = shared ? await compete(chunks, dropout) : [];
    const losses: Tensors[] = [];
    for (const [i, chunk] of chunks.entries())
      losses.push(await steps.objective(chunk, dropout[i]!, objective, caches[i]));
    return sumLosses(losses, objective, options);
  };
}

/** Draws what drops out of each chunk of a batch: the same in steps 1 and 3, and on whatever engine. */
function dropoutOfChunks(
  config: ModelConfig,
  options: AccumulatorOptions,
): (chunks: readonly Chunk[], objective: ObjectiveName, key: Key) => Tensors[] {
  const graphs = new Map<string, Graph>();
  const graphOf = (chunk: Chunk, objective: ObjectiveName): Graph => {
    const name = `${objective}, ${chunk.questions} x ${chunk.passages}`;
    const graph = graphs.get(name) ?? traceObjective(config, { ...options, objective }, chunk);
    graphs.set(name, graph);
    return graph;
  };
  return (chunks, objective, key) => {
    const pools = dropoutPools(graphOf(chunks[0]!, objective), options.dropout, key);
    return chunks.map((chunk) => ({
      ...pools,
      ...dropoutRows(graphOf(chunk, objective), chunk.sequences, key),
    }));
  };
}

/** A chunk without gradients, whatever computes it: what is fed to its dropout. */
function traceObjective(
  config: ModelConfig,
  options: AccumulatorOptions & { readonly objective: ObjectiveName },
  { questions, passages }: Chunk,
): Graph {
  return trace(chunkSignature(questions, passages), (tracer, input) => {
    const context = { ops: tracer, config, dropout: tracedDropout(tracer, options.dropout) };
    const trained = trainedParameters(tracer, config, options, (name, shape) =>
      tracer.parameter(name, shape),
    );
    const { objective } = chunkObjective(context, trained, input, options);
    return { objective };
  });
}

function sumLosses(
  chunks: readonly Tensors[],
  objective: ObjectiveName,
  options: StepOptions,
): BatchLosses {
  const total = (name: string): number =>
    chunks.reduce((sum, chunk) => sum + chunk[name]!.data[0]!, 0);
  const rows = (name: string): number[][] => chunks.flatMap((chunk) => rowsOf(chunk[name]!));
  const nll = total("nll");
  const copyAttention = chunks[0]!.copyAttention ? { copyAttention: total("pointer") } : undefined;
  const reading = {
    nll,
    ...copyAttention,
    loss: nll + (copyAttention ? options.copyAttention! * copyAttention.copyAttention : 0),
  };
  if (objective === "qa") return reading;
  const retrieval = { scores: rows("scores"), ownLogProbabilities: rows("ownLogProbabilities") };
  if (objective === "marginal") return { ...reading, retrieval };
  const kl = total("kl");
  const loss = reading.loss + options.alpha * kl;
  return { ...reading, loss, retrieval, distillation: { kl, target: rows("target") } };
}

function rowsOf({ data, shape }: Tensor): number[][] {
  const [rows, columns] = shape as [number, number];
  return Array.from({ length: rows }, (_, row) => [
    ...data.subarray(row * columns, (row + 1) * columns),
  ]);
}
