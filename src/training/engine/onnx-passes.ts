/**
 * The passes of the gradient cache on onnxruntime: one graph for each pass and shape. Gradients are
 * derived by the rules of tensor/gradients.ts.
 */

import type { ModelConfig } from "../../model/config.ts";
import { gradients } from "../../tensor/gradients.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { type CompileOptions, compile, type Session } from "../../tensor/session.ts";
import { type Graph, type Signature, type Tracer, trace, type Value } from "../../tensor/trace.ts";
import type {
  ComputedChunk,
  GradientOptions,
  GradientPasses,
  Tensors,
} from "../gradient-cache/gradient-passes.ts";
import { tracedDropout } from "../loss/dropout.ts";
import {
  type CacheInputs,
  cacheInputs,
  chunkInputs,
  normaliserInputs,
} from "../loss/graph-inputs.ts";
import { batchNormaliser, chunkLoss, chunkVectors, namedLosses } from "../loss/loss-graph.ts";
import type { ObjectiveName } from "../loss/options.ts";
import {
  buildTrainedParameters,
  selectLearnedScalars,
  selectTrained,
  type TrainedParameters,
} from "../loss/trained-parameters.ts";
import type { ParameterState } from "./optimizer.ts";

type Parameters = ReadonlyMap<string, Pick<ParameterState, "shape" | "value" | "gradient">>;

/** Adds gradients to those in the states of `parameters`, which include the learned scalars. */
export function openOnnxPasses(
  config: ModelConfig,
  parameters: Parameters,
  options: GradientOptions,
  compileOptions: CompileOptions,
): GradientPasses & AsyncDisposable {
  const graphs = openGraphs(stateTensors(parameters), compileOptions);
  return {
    vectors: (chunk, dropout) =>
      graphs.run(
        `vectors, ${chunk.objective}, ${sizeOf(chunk)}`,
        () => traceVectors(config, options, chunk),
        {
          ...chunk.tensors,
          ...dropout,
        },
      ),
    normaliser: (batch) =>
      graphs.run("normaliser", () => traceNormaliser(config, parameters, options), batch),
    loss: (chunk, dropout, objective, cache) =>
      graphs.run(
        `${objective}, ${sizeOf(chunk)}, cached ${cache !== undefined}`,
        () => traceLoss(config, parameters, { ...options, objective }, chunk, cache !== undefined),
        { ...chunk.tensors, ...dropout, ...cache },
      ),
    [Symbol.asyncDispose]: () => graphs[Symbol.asyncDispose](),
  };
}

const sizeOf = ({ questions, candidates }: ComputedChunk): string => `${questions} x ${candidates}`;

interface CompiledGraphs extends AsyncDisposable {
  /** Runs the graph of this name, which `build` traces at the first run. */
  run(name: string, build: () => Graph, tensors: Tensors): Promise<Tensors>;
}

/** Graphs that take inputs from `state` too. Outputs with a name in `state` overwrite it. */
function openGraphs(state: Tensors, options: CompileOptions): CompiledGraphs {
  const sessions = new Map<string, Promise<{ graph: Graph; session: Session }>>();
  const compileOnce = (name: string, build: () => Graph) => {
    const known = sessions.get(name);
    if (known) return known;
    const graph = build();
    // Steps have many lengths: with planned blocks, memory grew with each of them.
    const compiled = compile(graph, { ...options, memoryPattern: false }).then((session) => ({
      graph,
      session,
    }));
    sessions.set(name, compiled);
    return compiled;
  };
  return {
    async run(name, build, tensors) {
      const { graph, session } = await compileOnce(name, build);
      const names = [...graph.inputs.keys(), ...graph.parameters.keys()];
      const feeds = names.map((input) => [input, tensors[input] ?? state[input]!]);
      return session.run(Object.fromEntries(feeds), [...graph.outputs.keys()], state);
    },
    async [Symbol.asyncDispose]() {
      for (const { session } of await Promise.all(sessions.values()))
        await session[Symbol.asyncDispose]();
    },
  };
}

/** Pass 1: -> `queries`, `keys` */
export function traceVectors(
  config: ModelConfig,
  options: GradientOptions,
  chunk: ComputedChunk,
): Graph {
  const { objective } = chunk;
  return trace(chunkInputs(chunk, objective), (tracer, input) => {
    const context = { ops: tracer, config, dropout: tracedDropout(tracer, options.dropout) };
    const trained = tracedParameters(tracer, config, options);
    return chunkVectors(context, trained, input, { ...options, objective });
  });
}

/**
 * Pass 2: -> `logNormaliser`, `queryGradient`, `keyGradient`, and `sum:NAME` for each learned
 * scalar that is trained: the sum of its gradients, with those of this batch added.
 */
export function traceNormaliser(
  config: ModelConfig,
  parameters: Parameters,
  options: GradientOptions,
): Graph {
  return trace(normaliserInputs(config, options), (tracer, input) => {
    const trained = tracedParameters(tracer, config, options);
    const { logNormaliser, mean } = batchNormaliser(tracer, trained, input, options);
    const [queryGradient, keyGradient] = gradients(tracer, mean, [input.queries, input.keys]);
    const weighted = tracer.multiply(mean, tracer.scalar(options.alpha));
    const scalars = selectLearnedScalars(selectTrained(config, options, parameters));
    const sums = addedGradients(tracer, weighted, scalars);
    return { logNormaliser, queryGradient: queryGradient!, keyGradient: keyGradient!, ...sums };
  });
}

/** Pass 3: -> the losses of `namedLosses`, and `sum:NAME` for each trained parameter. */
export function traceLoss(
  config: ModelConfig,
  parameters: Parameters,
  options: GradientOptions & { readonly objective: ObjectiveName },
  chunk: ComputedChunk,
  cached: boolean,
): Graph {
  return trace(chunkInputs(chunk, options.objective), (tracer, input) => {
    const inputs = cacheInputs(config, chunk, options);
    const cache = cached ? inputsOf(tracer, inputs) : undefined;
    const context = { ops: tracer, config, dropout: tracedDropout(tracer, options.dropout) };
    const trained = tracedParameters(tracer, config, options);
    const { loss, ...losses } = chunkLoss(context, trained, input, options, cache);
    const sums = addedGradients(tracer, loss, selectTrained(config, options, parameters));
    return { ...namedLosses(losses), ...sums };
  });
}

const tracedParameters = (
  tracer: Tracer,
  config: ModelConfig,
  options: GradientOptions,
): TrainedParameters<Value> =>
  buildTrainedParameters(tracer, config, options, (name, shape) => tracer.parameter(name, shape));

const inputsOf = (tracer: Tracer, signatures: CacheInputs<Signature>): CacheInputs<Value> =>
  Object.fromEntries(
    Object.entries<Signature>(signatures).map(([name, signature]) => [
      name,
      tracer.input(name, signature),
    ]),
  ) as CacheInputs<Value>;

/** The gradients of `loss`, each added to the input `sum:NAME`. */
function addedGradients(
  tracer: Tracer,
  loss: Value,
  parameters: Parameters,
): Record<string, Value> {
  const names = [...parameters.keys()];
  const variables = names.map((name) => tracer.parameter(name, parameters.get(name)!.shape));
  const sums = names.map((name) =>
    tracer.input(`sum:${name}`, ["float32", ...parameters.get(name)!.shape]),
  );
  const added = gradients(tracer, loss, variables, sums);
  return Object.fromEntries(added.map((sum, i) => [`sum:${names[i]}`, sum]));
}

/** The values of parameters by name, and the sums of their gradients as `sum:NAME`. */
function stateTensors(parameters: Parameters): Tensors {
  const tensors: Record<string, Tensor> = {};
  for (const [name, { shape, value, gradient }] of parameters) {
    tensors[name] = { data: value, shape };
    tensors[`sum:${name}`] = { data: gradient, shape };
  }
  return tensors;
}
