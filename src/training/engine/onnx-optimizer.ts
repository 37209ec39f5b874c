/**
 * AdamW on onnxruntime: one graph for the gradient norm, one for the update. They are separate from
 * the graphs of gradients because the update overwrites the parameters.
 */

import type { Tensor } from "../../tensor/ops.ts";
import { type CompileOptions, compile } from "../../tensor/session.ts";
import { type Graph, type Signature, trace, type Value } from "../../tensor/trace.ts";
import {
  adamW,
  decayOf,
  type Optimizer,
  type OptimizerOptions,
  type ParameterState,
  STATE_ARRAYS,
  type StateArray,
  sumOfSquares,
  type UpdateScalars,
  updateScalars,
} from "./optimizer.ts";

type Parameters = ReadonlyMap<string, ParameterState>;

/** Updates `parameters` in place. */
export async function openOnnxOptimizer(
  parameters: Parameters,
  options: OptimizerOptions,
  compileOptions: CompileOptions,
): Promise<Optimizer & AsyncDisposable> {
  const norm = await compile(traceNorm(parameters), compileOptions);
  const update = await compile(traceUpdate(parameters, options), compileOptions);
  return {
    async gradientNorm() {
      const { total } = await norm.run(feedsOf(parameters, ["gradient"]));
      return Math.sqrt(total!.data[0]!);
    },
    async update(step) {
      const scalars = updateScalars(step, options, (value) => ({
        data: Float32Array.of(value),
        shape: [],
      }));
      const updated = feedsOf(parameters, ["value", "firstMoment", "secondMoment"]);
      await update.run(
        { ...feedsOf(parameters, STATE_ARRAYS), ...scalars },
        Object.keys(updated),
        updated,
      );
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([norm[Symbol.asyncDispose](), update[Symbol.asyncDispose]()]);
    },
  };
}

/** -> `total`: the sum of squares of all gradients. */
function traceNorm(parameters: Parameters): Graph {
  return trace(signatureOf(parameters, ["gradient"]), (ops, input) => ({
    total: sumOfSquares(ops, Object.values(input)),
  }));
}

/** -> `value:NAME`, `firstMoment:NAME` and `secondMoment:NAME` of each parameter. */
function traceUpdate(parameters: Parameters, options: OptimizerOptions): Graph {
  const inputs: Record<string, Signature> = {
    ...signatureOf(parameters, STATE_ARRAYS),
    clip: ["float32"],
    learningRate: ["float32"],
    firstCorrection: ["float32"],
    secondCorrection: ["float32"],
  };
  return trace(inputs, (ops, input) => {
    const scalars: UpdateScalars<Value> = {
      clip: input.clip!,
      learningRate: input.learningRate!,
      firstCorrection: input.firstCorrection!,
      secondCorrection: input.secondCorrection!,
    };
    const updated = [...parameters].flatMap(([name, { shape }]) => {
      const arrays = STATE_ARRAYS.map((array) => [array, input[`${array}:${name}`]!]);
      const state = Object.fromEntries(arrays) as Record<StateArray, Value>;
      const after = adamW(ops, state, scalars, decayOf(name, shape, options));
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
