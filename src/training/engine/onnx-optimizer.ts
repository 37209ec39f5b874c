/**
 * AdamW on onnxruntime, as two graphs: one that measures all gradients, one that updates. They are apart from the graphs that
 * compute gradients because the update is written over the parameters.
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
  STATE_PARTS,
  type StatePart,
  type StepScalars,
  stepScalars,
  sumOfSquares,
} from "./optimizer.ts";

type Parameters = ReadonlyMap<string, ParameterState>;

/** The states in `parameters` are updated in place. */
export async function openOnnxOptimizer(
  parameters: Parameters,
  options: OptimizerOptions,
  compileOptions: CompileOptions,
): Promise<Optimizer & AsyncDisposable> {
  const norm = await compile(traceNorm(parameters), compileOptions);
  const update = await compile(traceUpdate(parameters, options), compileOptions);
  return {
    async norm() {
      const { total } = await norm.run(feedsOf(parameters, ["gradient"]));
      return Math.sqrt(total!.data[0]!);
    },
    async update(move) {
      const scalars = stepScalars(move, options, (value) => ({
        data: Float32Array.of(value),
        shape: [],
      }));
      const updated = feedsOf(parameters, ["value", "mean", "square"]);
      await update.run(
        { ...feedsOf(parameters, STATE_PARTS), ...scalars },
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

/** -> `value:NAME`, `mean:NAME` and `square:NAME` of every parameter. */
function traceUpdate(parameters: Parameters, options: OptimizerOptions): Graph {
  const inputs: Record<string, Signature> = {
    ...signatureOf(parameters, STATE_PARTS),
    clip: ["float32"],
    rate: ["float32"],
    meanCorrection: ["float32"],
    squareCorrection: ["float32"],
  };
  return trace(inputs, (ops, input) => {
    const scalars: StepScalars<Value> = {
      clip: input.clip!,
      rate: input.rate!,
      meanCorrection: input.meanCorrection!,
      squareCorrection: input.squareCorrection!,
    };
    const updated = [...parameters].flatMap(([name, { shape }]) => {
      const parts = STATE_PARTS.map((part) => [part, input[`${part}:${name}`]!]);
      const state = Object.fromEntries(parts) as Record<StatePart, Value>;
      const moved = adamW(ops, state, scalars, decayOf(shape, options));
      return Object.entries(moved).map(([part, value]) => [`${part}:${name}`, value] as const);
    });
    return Object.fromEntries(updated);
  });
}

const namesOf = (parameters: Parameters, parts: readonly StatePart[]) =>
  [...parameters].flatMap(([name, state]) =>
    parts.map((part) => [`${part}:${name}`, state, part] as const),
  );

const signatureOf = (
  parameters: Parameters,
  parts: readonly StatePart[],
): Record<string, Signature> =>
  Object.fromEntries(
    namesOf(parameters, parts).map(([name, { shape }]) => [name, ["float32", ...shape] as const]),
  );

const feedsOf = (parameters: Parameters, parts: readonly StatePart[]): Record<string, Tensor> =>
  Object.fromEntries(
    namesOf(parameters, parts).map(([name, state, part]) => [
      name,
      { data: state[part], shape: state.shape },
    ]),
  );
