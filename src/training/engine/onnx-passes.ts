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
  GradientOptions,
  GradientPasses,
  Tensors,
} from "../gradient-cache/gradient-passes.ts";
import type { Chunk } from "../loss/batch.ts";
import { tracedDropout } from "../loss/dropout.ts";
import { cacheInputs, chunkInputs, normaliserInputs } from "../loss/graph-inputs.ts";
import { batchNormaliser, chunkLoss, chunkVectors, namedLosses } from "../loss/loss-graph.ts";
import type { ObjectiveName } from "../loss/options.ts";
import {
  buildTrainedParameters,
  selectLearnedScalars,
  selectTrained,
  type TrainedParameters,
} from "../loss/trained-parameters.ts";
import type { ParameterState } from "./optimizer.ts";

type Parameters = ReadonlyMap<string, ParameterState>;

interface CompiledGraph {
  readonly graph: Graph;
  readonly session: Session;
}

/** Gradients are added to those in the states of `parameters`, which include the learned scalars. */
export function openOnnxPasses(
  config: ModelConfig,
  parameters: Parameters,
  options: GradientOptions,
  compileOptions: CompileOptions,
): GradientPasses & AsyncDisposable {
  const compiled = new Map<string, Promise<CompiledGraph>>();
  const compileOnce = (name: string, build: () => Graph): Promise<CompiledGraph> => {
    const known = compiled.get(name);
    if (known) return known;
    const graph = build();
    const made = compile(graph, compileOptions).then((session) => ({ graph, session }));
    compiled.set(name, made);
    return made;
  };
  const state = stateTensors(parameters);
  /** Runs a graph on `tensors` and the parameters. Sums of gradients are updated in place. */
  const run = async (made: Promise<CompiledGraph>, tensors: Tensors): Promise<Tensors> => {
    const { graph, session } = await made;
    const names = [...graph.inputs.keys(), ...graph.parameters.keys()];
    const feeds = names.map((name) => [name, tensors[name] ?? state[name]!]);
    return session.run(Object.fromEntries(feeds), [...graph.outputs.keys()], state);
  };

  return {
    vectors(chunk, dropout) {
      const build = (): Graph => traceVectors(config, options, chunk);
      const made = compileOnce(`vectors, ${chunk.questions} x ${chunk.candidates}`, build);
      return run(made, { ...chunk.tensors, ...dropout });
    },
    normaliser(batch) {
      const build = (): Graph => traceNormaliser(config, parameters, options);
      return run(compileOnce("normaliser", build), batch);
    },
    loss(chunk, dropout, objective, cache) {
      const cached = cache !== undefined;
      const named = { ...options, objective };
      const build = (): Graph => traceLoss(config, parameters, named, chunk, cached);
      const shape = `${chunk.questions} x ${chunk.candidates}, cached ${cached}`;
      const made = compileOnce(`${objective}, ${shape}`, build);
      return run(made, { ...chunk.tensors, ...dropout, ...cache });
    },
    async [Symbol.asyncDispose]() {
      for (const { session } of await Promise.all(compiled.values()))
        await session[Symbol.asyncDispose]();
    },
  };
}

/** Pass 1: -> `queries`, `keys` */
export function traceVectors(
  config: ModelConfig,
  options: GradientOptions,
  { questions, candidates }: Chunk,
): Graph {
  return trace(chunkInputs(questions, candidates), (tracer, input) => {
    const context = { ops: tracer, config, dropout: tracedDropout(tracer, options.dropout) };
    return chunkVectors(context, tracedParameters(tracer, config, options), input, options);
  });
}

/**
 * Pass 2: -> `logNormaliser`, `queryGradient`, `keyGradient`, and for each learned scalar NAME that is
 * trained `sum:NAME`, the sum of its gradients with this batch's added.
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

/** Pass 3: -> losses, and for each trained parameter NAME `sum:NAME`. */
export function traceLoss(
  config: ModelConfig,
  parameters: Parameters,
  options: GradientOptions & { readonly objective: ObjectiveName },
  { questions, candidates }: Chunk,
  cached: boolean,
): Graph {
  return trace(chunkInputs(questions, candidates), (tracer, input) => {
    const cache = cached ? inputsOf(tracer, cacheInputs(config, questions, options)) : undefined;
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

function inputsOf<Name extends string>(
  tracer: Tracer,
  signatures: Record<Name, Signature>,
): Record<Name, Value> {
  const inputs = {} as Record<Name, Value>;
  for (const [name, signature] of Object.entries<Signature>(signatures))
    inputs[name as Name] = tracer.input(name, signature);
  return inputs;
}

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
