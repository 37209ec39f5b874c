/**
 * Training steps on onnxruntime, which computes in the memory of the parameter states. AdamW has
 * one graph for the gradient norm and one for the update. They are separate from the graphs of
 * gradients because the update overwrites the parameters.
 */

import type { ModelConfig } from "../../model/config.ts";
import type { Tensor } from "../../tensor/ops.ts";
import { type CompileOptions, compile } from "../../tensor/session.ts";
import { type Graph, type Signature, trace, type Value } from "../../tensor/trace.ts";
import { selectTrained } from "../objectives/trained-parameters.ts";
import type { Backend, EngineSettings } from "./engine.ts";
import { onnxPasses, openGraphRunner } from "./onnx-passes.ts";
import {
  adamW,
  type Optimizer,
  type OptimizerOptions,
  type ParameterState,
  ruleOf,
  STATE_ARRAYS,
  type StateArray,
  sumsOfSquares,
  type UpdateScalars,
  updateScalars,
} from "./optimizer.ts";

/** `parameters` are updated in place. */
export async function openOnnxBackend(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  settings: EngineSettings,
  compileOptions: CompileOptions,
): Promise<Backend> {
  const trained = selectTrained(settings.trained, parameters);
  const optimizer = await openOnnxOptimizer(trained, settings, compileOptions);
  const runner = openGraphRunner(parameters, compileOptions);
  const passes = onnxPasses(config, parameters, settings, runner);
  return {
    passes,
    optimizer,
    clearGradients() {
      for (const { gradient } of parameters.values()) gradient.fill(0);
    },
    async read() {},
    async write() {},
    async [Symbol.asyncDispose]() {
      await Promise.all([runner[Symbol.asyncDispose](), optimizer[Symbol.asyncDispose]()]);
    },
  };
}

type Parameters = ReadonlyMap<string, ParameterState>;

/** Updates `parameters` in place. */
export async function openOnnxOptimizer(
  parameters: Parameters,
  options: OptimizerOptions,
  compileOptions: CompileOptions,
): Promise<Optimizer & AsyncDisposable> {
  const norm = await compile(traceNorms(parameters, options), compileOptions);
  const update = await compile(traceUpdate(parameters, options), compileOptions);
  return {
    async gradientNorms() {
      const { main, apart } = await norm.run(feedsOf(parameters, ["gradient"]));
      return { main: Math.sqrt(main!.data[0]!), apart: Math.sqrt(apart!.data[0]!) };
    },
    async update(step) {
      const { clip, ...scalars } = updateScalars(step, options, (value) => ({
        data: Float32Array.of(value),
        shape: [],
      }));
      const updated = feedsOf(parameters, ["value", "firstMoment", "secondMoment"]);
      await update.run(
        { ...feedsOf(parameters, STATE_ARRAYS), ...scalars, ...clip },
        Object.keys(updated),
        updated,
      );
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([norm[Symbol.asyncDispose](), update[Symbol.asyncDispose]()]);
    },
  };
}

/** -> `main` and `apart`: the squares of the norms. */
const traceNorms = (parameters: Parameters, options: OptimizerOptions): Graph =>
  trace(signatureOf(parameters, ["gradient"]), (ops, input) => {
    const gradients = [...parameters.keys()].map((name) => [name, input[`gradient:${name}`]!]);
    return sumsOfSquares(ops, new Map(gradients as [string, Value][]), options);
  });

/** -> `value:NAME`, `firstMoment:NAME` and `secondMoment:NAME` of each parameter. */
function traceUpdate(parameters: Parameters, options: OptimizerOptions): Graph {
  const inputs: Record<string, Signature> = {
    ...signatureOf(parameters, STATE_ARRAYS),
    main: ["float32"],
    apart: ["float32"],
    learningRate: ["float32"],
    firstCorrection: ["float32"],
    secondCorrection: ["float32"],
  };
  return trace(inputs, (ops, input) => {
    const scalars: UpdateScalars<Value> = {
      clip: { main: input.main!, apart: input.apart! },
      learningRate: input.learningRate!,
      firstCorrection: input.firstCorrection!,
      secondCorrection: input.secondCorrection!,
    };
    const updated = [...parameters].flatMap(([name, { shape }]) => {
      const arrays = STATE_ARRAYS.map((array) => [array, input[`${array}:${name}`]!]);
      const state = Object.fromEntries(arrays) as Record<StateArray, Value>;
      const after = adamW(ops, state, scalars, ruleOf(name, shape, options));
      return Object.entries(after).map(([array, value]) => [`${array}:${name}`, value] as const);
    });
    return Object.fromEntries(updated);
  });
}

const namedStates = (parameters: Parameters, arrays: readonly StateArray[]) =>
  [...parameters].flatMap(([name, state]) =>
    arrays.map((array) => [`${array}:${name}`, state, array] as const),
  );

const signatureOf = (
  parameters: Parameters,
  arrays: readonly StateArray[],
): Record<string, Signature> =>
  Object.fromEntries(
    namedStates(parameters, arrays).map(
      ([name, { shape }]) => [name, ["float32", ...shape] as const] as const,
    ),
  );

const feedsOf = (parameters: Parameters, arrays: readonly StateArray[]): Record<string, Tensor> =>
  Object.fromEntries(
    namedStates(parameters, arrays).map(([name, state, array]) => [
      name,
      { data: state[array], shape: state.shape },
    ]),
  );
