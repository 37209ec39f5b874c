/** The dropout of each chunk of a batch. It is the same in passes 1 and 3, and on every engine. */

import type { ModelConfig } from "../../model/config.ts";
import { type Graph, trace } from "../../tensor/trace.ts";
import type { Chunk } from "../loss/batch.ts";
import { dropoutPools, dropoutRows, tracedDropout } from "../loss/dropout.ts";
import { chunkInputs } from "../loss/graph-inputs.ts";
import { chunkLoss } from "../loss/loss-graph.ts";
import type { ObjectiveName } from "../loss/options.ts";
import { buildTrainedParameters } from "../loss/trained-parameters.ts";
import type { GradientOptions, Tensors } from "./gradient-passes.ts";

/** Determines all random values. */
export type DropoutKey = readonly (number | string)[];

/** Returns a function that draws the dropout inputs of each chunk. */
export function openChunkDropout(
  config: ModelConfig,
  options: GradientOptions,
): (chunks: readonly Chunk[], objective: ObjectiveName, key: DropoutKey) => Tensors[] {
  const graphs = new Map<string, Graph>();
  const graphOf = (chunk: Chunk, objective: ObjectiveName): Graph => {
    const name = `${objective}, ${chunk.questions} x ${chunk.candidates}`;
    const graph = graphs.get(name) ?? traceLoss(config, options, objective, chunk);
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

/** The loss graph of a chunk. Its inputs tell which random values dropout takes. */
function traceLoss(
  config: ModelConfig,
  options: GradientOptions,
  objective: ObjectiveName,
  chunk: Chunk,
): Graph {
  return trace(chunkInputs(chunk, objective), (tracer, input) => {
    const context = { ops: tracer, config, dropout: tracedDropout(tracer, options.dropout) };
    const trained = buildTrainedParameters(tracer, config, options, (name, shape) =>
      tracer.parameter(name, shape),
    );
    return { loss: chunkLoss(context, trained, input, { ...options, objective }).loss };
  });
}
