/** The dropout of each chunk of a batch. It is the same in passes 1 and 3, and on every engine. */

import type { ModelConfig } from "../../model/config.ts";
import { type Graph, trace, type Value } from "../../tensor/trace.ts";
import { dropoutPools, dropoutRows, tracedDropout } from "../objectives/dropout.ts";
import {
  type ChunkInputs,
  forwardContext,
  forwardPass,
  type StepPlan,
  type StepSettings,
} from "../objectives/passes.ts";
import { signaturesOf } from "../objectives/token-batch.ts";
import { buildTrainedParameters } from "../objectives/trained-parameters.ts";
import type { Chunk } from "./chunks.ts";
import { graphName, type Tensors } from "./passes.ts";

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
