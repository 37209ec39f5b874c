/**
 * The passes of the gradient cache on onnxruntime: one graph for each pass and shape. Gradients are
 * derived by the rules of tensor/gradients.ts.
 */

import type { ModelConfig } from "../../model/config.ts";
import { gradients } from "../../tensor/gradients.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { type CompileOptions, compile, type Session } from "../../tensor/session.ts";
import { type Graph, type Tracer, trace, type Value } from "../../tensor/trace.ts";
import { tracedDropout } from "../objectives/dropout.ts";
import { keptAxes } from "../objectives/outputs.ts";
import {
  batchPass,
  type ChunkInputs,
  chunkPass,
  forwardContext,
  GRADIENT,
  type GradientPasses,
  graphName,
  keptOutputs,
  keptPass,
  lossTensors,
  lossValues,
  type NamedTensors,
  named,
  prefixed,
  type StepPlan,
  type StepSettings,
  type Tensors,
  WATCHED,
} from "../objectives/passes.ts";
import { signaturesOf } from "../objectives/token-batch.ts";
import {
  buildTrainedParameters,
  scoringParameters,
  selectLearnedScalars,
  selectTrained,
} from "../objectives/trained-parameters.ts";
import type { ParameterState } from "./optimizer.ts";

type Shapes = ReadonlyMap<string, { readonly shape: readonly number[] }>;

/** @param parameters with the learned scalars */
export function onnxPasses(
  config: ModelConfig,
  parameters: Shapes,
  settings: StepSettings,
  runner: GraphRunner,
): GradientPasses {
  return {
    async batch(plan, batch) {
      const outputs = await runner.run(
        `batch, ${graphName(plan, batch)}`,
        () => traceBatch(config, parameters, settings, plan, batch),
        batch,
      );
      return { ...lossValues(outputs), gradients: named(outputs, GRADIENT) };
    },
    keep: (plan, chunk, dropout) =>
      runner.run(
        `keep, ${graphName(plan, chunk)}`,
        () => traceKept(config, settings, plan, chunk),
        { ...chunk, ...dropout },
      ),
    async chunk(plan, chunk, dropout, cache) {
      const cached = cache && prefixed(GRADIENT, cache);
      const outputs = await runner.run(
        `chunk, cached ${cache !== undefined}, ${graphName(plan, chunk)}`,
        () => traceChunk(config, parameters, settings, plan, chunk, cached !== undefined),
        { ...chunk, ...dropout, ...cached },
      );
      return { ...lossValues(outputs), watched: named(outputs, WATCHED) };
    },
  };
}

/** The sum of the gradients of a parameter. */
const SUM = "sum:";

/** Pass 1: -> the kept outputs by name */
export const traceKept = (
  config: ModelConfig,
  settings: StepSettings,
  plan: StepPlan,
  chunk: NamedTensors,
): Graph =>
  trace(signaturesOf(chunk), (tracer, input) => {
    const { contexts, trained } = tracedModel(tracer, config, settings);
    return keptPass(contexts, trained, input as ChunkInputs<Value>, plan);
  });

/**
 * Pass 2: -> `loss`, `term:NAME`, `gradient:NAME` of each kept output, and `sum:NAME` for each
 * learned scalar that is trained: the sum of its gradients, with those of this batch added.
 */
export const traceBatch = (
  config: ModelConfig,
  parameters: Shapes,
  settings: StepSettings,
  plan: StepPlan,
  batch: NamedTensors,
): Graph =>
  trace(signaturesOf(batch), (tracer, input) => {
    const scalars = scoringParameters(config, plan.tau, (name, shape) =>
      tracer.parameter(name, shape),
    );
    const computed = batchPass(tracer, scalars, input, plan);
    const kept = keptOutputs(plan);
    const values = kept.map((name) => input[name]!);
    const ofKept = gradients(tracer, computed.loss, values).map((value, i) => [kept[i]!, value]);
    const trained = selectLearnedScalars(selectTrained(settings.trained, parameters));
    return {
      ...lossTensors(computed),
      ...prefixed<Value>(GRADIENT, Object.fromEntries(ofKept)),
      ...addedGradients(tracer, computed.loss, trained),
    };
  });

/** Pass 3: -> `loss`, `term:NAME`, `watched:NAME`, and `sum:NAME` for each trained parameter */
export const traceChunk = (
  config: ModelConfig,
  parameters: Shapes,
  settings: StepSettings,
  plan: StepPlan,
  chunk: NamedTensors,
  isCached: boolean,
): Graph =>
  trace(signaturesOf(chunk), (tracer, input) => {
    const { contexts, trained } = tracedModel(tracer, config, settings);
    const cache = isCached ? cacheInputs(tracer, config, plan, chunk) : undefined;
    const computed = chunkPass(contexts, trained, input as ChunkInputs<Value>, plan, cache);
    return {
      ...lossTensors(computed),
      ...prefixed(WATCHED, computed.watched),
      ...addedGradients(tracer, computed.minimised, selectTrained(settings.trained, parameters)),
    };
  });

/** The gradients of the kept outputs of a chunk, as inputs. */
function cacheInputs(
  tracer: Tracer,
  config: ModelConfig,
  plan: StepPlan,
  { isCandidate }: NamedTensors,
): Record<string, Value> {
  const [Q, K] = isCandidate!.shape as [number, number];
  const axes = keptAxes(config, plan.tau);
  const sizes: Readonly<Record<string, number>> = { Q, K };
  return Object.fromEntries(
    keptOutputs(plan).map((name) => {
      const dims = axes[name].map((axis) => sizes[axis] ?? axis);
      return [name, tracer.input(GRADIENT + name, ["float32", ...dims])];
    }),
  );
}

function tracedModel(tracer: Tracer, config: ModelConfig, settings: StepSettings) {
  const dropout = tracedDropout(tracer, settings.dropout);
  const trained = buildTrainedParameters(tracer, config, settings, (name, shape) =>
    tracer.parameter(name, shape),
  );
  return { contexts: forwardContext(tracer, config, settings, dropout), trained };
}

/** The gradients of `loss`, each added to the input `sum:NAME`. */
function addedGradients(tracer: Tracer, loss: Value, parameters: Shapes): Record<string, Value> {
  const names = [...parameters.keys()];
  const variables = names.map((name) => tracer.parameter(name, parameters.get(name)!.shape));
  const sums = names.map((name) =>
    tracer.input(SUM + name, ["float32", ...parameters.get(name)!.shape]),
  );
  const added = gradients(tracer, loss, variables, sums);
  return Object.fromEntries(added.map((sum, i) => [SUM + names[i]!, sum]));
}

export interface GraphRunner extends AsyncDisposable {
  /** Runs the graph of this name, which `build` traces at the first run. */
  run(name: string, build: () => Graph, tensors: Tensors): Promise<Tensors>;
}

/** The parameters of a graph: values, and the sums of gradients. */
export type GraphParameters = ReadonlyMap<
  string,
  Pick<ParameterState, "shape" | "value" | "gradient">
>;

/** Graphs take parameters by name, and sums of gradients as `sum:NAME`, which they overwrite. */
export function openGraphRunner(parameters: GraphParameters, options: CompileOptions): GraphRunner {
  const state = stateTensors(parameters);
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

/** The values of parameters by name, and the sums of their gradients as `sum:NAME`. */
function stateTensors(parameters: GraphParameters): Tensors {
  const tensors: Record<string, Tensor> = {};
  for (const [name, { shape, value, gradient }] of parameters) {
    tensors[name] = { data: value, shape };
    tensors[`sum:${name}`] = { data: gradient, shape };
  }
  return tensors;
}
