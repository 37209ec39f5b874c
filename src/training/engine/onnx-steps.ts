/** The steps of the gradient cache on onnxruntime: a graph for each step and shape, with its gradients by our rules. */

import type { ModelConfig } from "../../model/config.ts";
import { gradients } from "../../tensor/gradients.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { type CompileOptions, compile, type Session } from "../../tensor/session.ts";
import { type Graph, type Signature, type Tracer, trace, type Value } from "../../tensor/trace.ts";
import type { GradientSteps, StepOptions, Tensors } from "../gradient-cache/gradient-steps.ts";
import type { Chunk } from "../loss/batch.ts";
import { tracedDropout } from "../loss/dropout.ts";
import {
  cacheSignature,
  chunkSignature,
  competitionSignature,
  type ObjectiveName,
} from "../loss/graph-inputs.ts";
import { chunkObjective, chunkVectors, competition, lossesByName } from "../loss/loss-graph.ts";
import {
  ownOf,
  type TrainedParameters,
  trainedOf,
  trainedParameters,
} from "../loss/trained-parameters.ts";
import type { ParameterState } from "./optimizer.ts";

type Parameters = ReadonlyMap<string, ParameterState>;

/** A compiled graph, and what it takes. */
interface Compiled {
  readonly graph: Graph;
  readonly session: Session;
}

/**
 * For `parameters`, which are named as in the checkpoint, the objective's own among them. Gradients are added to those in
 * their states.
 */
export function openOnnxSteps(
  config: ModelConfig,
  parameters: Parameters,
  options: StepOptions,
  compileOptions: CompileOptions,
): GradientSteps & AsyncDisposable {
  const compiled = new Map<string, Promise<Compiled>>();
  const compiledOnce = (name: string, build: () => Graph): Promise<Compiled> => {
    const known = compiled.get(name);
    if (known) return known;
    const graph = build();
    const made = compile(graph, compileOptions).then((session) => ({ graph, session }));
    compiled.set(name, made);
    return made;
  };
  const state = stateTensors(parameters);
  /** Runs a graph on what it takes of `tensors` and of the parameters; sums of gradients are updated in place. */
  const run = async (made: Promise<Compiled>, tensors: Tensors): Promise<Tensors> => {
    const { graph, session } = await made;
    const taken = [...graph.inputs.keys(), ...graph.parameters.keys()];
    const feeds = taken.map((name) => [name, tensors[name] ?? state[name]!]);
    return session.run(Object.fromEntries(feeds), [...graph.outputs.keys()], state);
  };

  return {
    vectors: (chunk, dropout) =>
      run(
        compiledOnce(`vectors of ${chunk.questions}`, () => traceVectors(config, options, chunk)),
        { ...chunk.tensors, ...dropout },
      ),
    competition: (batch) =>
      run(
        compiledOnce("competition", () => traceCompetition(config, parameters, options)),
        batch,
      ),
    objective: (chunk, dropout, objective, cache) =>
      run(
        compiledOnce(
          `${objective}, ${chunk.questions} x ${chunk.passages}, cached ${cache !== undefined}`,
          () =>
            traceChunk(config, parameters, { ...options, objective }, chunk, cache !== undefined),
        ),
        { ...chunk.tensors, ...dropout, ...cache },
      ),
    async [Symbol.asyncDispose]() {
      for (const { session } of await Promise.all(compiled.values()))
        await session[Symbol.asyncDispose]();
    },
  };
}

/** -> losses, and for each parameter that is trained `sum:NAME`, its sum of gradients with this chunk's added. */
export function traceChunk(
  config: ModelConfig,
  parameters: Parameters,
  options: StepOptions & { readonly objective: ObjectiveName },
  { questions, passages }: Chunk,
  cached: boolean,
): Graph {
  return trace(chunkSignature(questions, passages), (tracer, input) => {
    const cache = cached ? inputsOf(tracer, cacheSignature(config, questions, options)) : undefined;
    const context = { ops: tracer, config, dropout: tracedDropout(tracer, options.dropout) };
    const trained = tracedParameters(tracer, config, options);
    const { objective, ...losses } = chunkObjective(context, trained, input, options, cache);
    const sums = addedGradients(tracer, objective, trainedOf(config, options, parameters));
    return { ...lossesByName(losses), ...sums };
  });
}

/** -> `queries`, `keys` */
export function traceVectors(
  config: ModelConfig,
  options: StepOptions,
  { questions, passages }: Chunk,
): Graph {
  return trace(chunkSignature(questions, passages), (tracer, input) => {
    const context = { ops: tracer, config, dropout: tracedDropout(tracer, options.dropout) };
    return chunkVectors(context, tracedParameters(tracer, config, options), input, options);
  });
}

/** -> `logNormaliser`, `queryGradient`, `keyGradient`, and the sums of the objective's own parameters. */
export function traceCompetition(
  config: ModelConfig,
  parameters: Parameters,
  options: StepOptions,
): Graph {
  return trace(competitionSignature(config, options), (tracer, input) => {
    const trained = tracedParameters(tracer, config, options);
    const { logNormaliser, average } = competition(tracer, trained, input, options);
    const [queryGradient, keyGradient] = gradients(tracer, average, [input.queries, input.keys]);
    const weighted = tracer.multiply(average, tracer.scalar(options.alpha));
    const sums = addedGradients(tracer, weighted, ownOf(trainedOf(config, options, parameters)));
    return { logNormaliser, queryGradient: queryGradient!, keyGradient: keyGradient!, ...sums };
  });
}

const tracedParameters = (
  tracer: Tracer,
  config: ModelConfig,
  options: StepOptions,
): TrainedParameters<Value> =>
  trainedParameters(tracer, config, options, (name, shape) => tracer.parameter(name, shape));

function inputsOf<Name extends string>(
  tracer: Tracer,
  signature: Record<Name, Signature>,
): Record<Name, Value> {
  const inputs = {} as Record<Name, Value>;
  for (const [name, one] of Object.entries<Signature>(signature))
    inputs[name as Name] = tracer.input(name, one);
  return inputs;
}

function addedGradients(
  tracer: Tracer,
  objective: Value,
  parameters: Parameters,
): Record<string, Value> {
  const names = [...parameters.keys()];
  const variables = names.map((name) => tracer.parameter(name, parameters.get(name)!.shape));
  const sums = names.map((name) =>
    tracer.input(`sum:${name}`, ["float32", ...parameters.get(name)!.shape]),
  );
  const added = gradients(tracer, objective, variables, sums);
  return Object.fromEntries(added.map((sum, i) => [`sum:${names[i]}`, sum]));
}

/** Parameters by their names, and the sums of their gradients as `sum:NAME`. */
function stateTensors(parameters: Parameters): Tensors {
  const tensors: Record<string, Tensor> = {};
  for (const [name, { shape, value, gradient }] of parameters) {
    tensors[name] = { data: value, shape };
    tensors[`sum:${name}`] = { data: gradient, shape };
  }
  return tensors;
}
