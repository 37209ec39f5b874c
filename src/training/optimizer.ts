/**
 * AdamW (Loshchilov and Hutter 2019) with clipping by the global norm, as two graphs: one that measures all gradients, one
 * that updates. They are apart from the graphs that compute gradients because the update is written over the parameters.
 */

import type { Tensor } from "../tensor/ops.ts";
import { type CompileOptions, compile, type Session } from "../tensor/session.ts";
import { type Graph, type Signature, trace } from "../tensor/trace.ts";

export interface OptimizerOptions {
  /** Default 0.01; of matrices only: norms, biases and the objective's own parameters do not decay. */
  readonly weightDecay?: number | undefined;
  /** Gradients are scaled down to this global norm. Default 1. */
  readonly clipNorm?: number | undefined;
}

/** A parameter and what the optimiser keeps of it; all are updated in place. */
export interface ParameterState {
  readonly shape: readonly number[];
  readonly value: Float32Array;
  readonly gradient: Float32Array;
  /** Running mean of the gradient. */
  readonly mean: Float32Array;
  /** Running mean of its square. */
  readonly square: Float32Array;
}

export interface Optimizer extends AsyncDisposable {
  /** The global norm of the gradients. */
  norm(): Promise<number>;
  /** Updates all parameters with their gradients, whose norm is given. `step` counts from 1. */
  update(step: number, learningRate: number, norm: number): Promise<void>;
}

const BETA_MEAN = 0.9;
const BETA_SQUARE = 0.999;
const EPSILON = 1e-8;

export function parameterState(shape: readonly number[], value: Float32Array): ParameterState {
  const zeros = (): Float32Array => new Float32Array(value.length);
  return { shape, value, gradient: zeros(), mean: zeros(), square: zeros() };
}

export async function openOptimizer(
  parameters: ReadonlyMap<string, ParameterState>,
  { weightDecay = 0.01, clipNorm = 1 }: OptimizerOptions,
  options: CompileOptions,
): Promise<Optimizer> {
  const norm = await compile(traceNorm(parameters), options);
  const adamW = await compile(traceAdamW(parameters, weightDecay), options);
  return {
    async norm() {
      const { total } = await norm.run(feedsOf(parameters, ["gradient"]));
      return Math.sqrt(total!.data[0]!);
    },
    update: (step, learningRate, length) =>
      updateInPlace(adamW, parameters, {
        clip: Math.min(1, clipNorm / length),
        rate: learningRate,
        meanCorrection: 1 / (1 - BETA_MEAN ** step),
        squareCorrection: 1 / (1 - BETA_SQUARE ** step),
      }),
    async [Symbol.asyncDispose]() {
      await Promise.all([norm[Symbol.asyncDispose](), adamW[Symbol.asyncDispose]()]);
    },
  };
}

type StatePart = "value" | "gradient" | "mean" | "square";

/** -> `total`: the sum of squares of all gradients. */
function traceNorm(parameters: ReadonlyMap<string, ParameterState>): Graph {
  return trace(signatureOf(parameters, ["gradient"]), (ops, input) => {
    const squares = [...parameters].map(([name, { shape }]) => {
      const gradient = input[`gradient:${name}`]!;
      return ops.sum(
        ops.multiply(gradient, gradient),
        shape.map((_, axis) => axis),
      );
    });
    return { total: squares.reduce((sum, square) => ops.add(sum, square)) };
  });
}

/**
 * With `g` the clipped gradient: `mean = b1 mean + (1 - b1) g`, `square = b2 square + (1 - b2) g^2`,
 * `value = (1 - rate decay) value - rate (mean meanCorrection) / (sqrt(square squareCorrection) + epsilon)`.
 */
function traceAdamW(parameters: ReadonlyMap<string, ParameterState>, weightDecay: number): Graph {
  const inputs: Record<string, Signature> = {
    ...signatureOf(parameters, ["value", "gradient", "mean", "square"]),
    clip: ["float32"],
    rate: ["float32"],
    meanCorrection: ["float32"],
    squareCorrection: ["float32"],
  };
  return trace(inputs, (ops, input) => {
    const outputs: Record<string, (typeof input)[string]> = {};
    const decayed = ops.subtract(ops.scalar(1), ops.multiply(input.rate!, ops.scalar(weightDecay)));
    const average = (beta: number, old: string, now: (typeof input)[string]) =>
      ops.add(ops.multiply(input[old]!, ops.scalar(beta)), ops.multiply(now, ops.scalar(1 - beta)));
    for (const [name, { shape }] of parameters) {
      const gradient = ops.multiply(input[`gradient:${name}`]!, input.clip!);
      const mean = average(BETA_MEAN, `mean:${name}`, gradient);
      const square = average(BETA_SQUARE, `square:${name}`, ops.multiply(gradient, gradient));
      const spread = ops.add(ops.sqrt(ops.multiply(square, input.squareCorrection!)), ops.scalar(EPSILON));
      const move = ops.divide(ops.multiply(mean, ops.multiply(input.meanCorrection!, input.rate!)), spread);
      const value = input[`value:${name}`]!;
      outputs[`mean:${name}`] = mean;
      outputs[`square:${name}`] = square;
      outputs[`value:${name}`] = ops.subtract(shape.length > 1 ? ops.multiply(value, decayed) : value, move);
    }
    return outputs;
  });
}

async function updateInPlace(
  adamW: Session,
  parameters: ReadonlyMap<string, ParameterState>,
  scalars: Record<"clip" | "rate" | "meanCorrection" | "squareCorrection", number>,
): Promise<void> {
  const feeds = feedsOf(parameters, ["value", "gradient", "mean", "square"]);
  for (const [name, value] of Object.entries(scalars))
    feeds[name] = { data: Float32Array.of(value), shape: [] };
  const updated = feedsOf(parameters, ["value", "mean", "square"]);
  await adamW.run(feeds, Object.keys(updated), updated);
}

const namesOf = (parameters: ReadonlyMap<string, ParameterState>, parts: readonly StatePart[]) =>
  [...parameters].flatMap(([name, state]) => parts.map((part) => [`${part}:${name}`, state, part] as const));

const signatureOf = (
  parameters: ReadonlyMap<string, ParameterState>,
  parts: readonly StatePart[],
): Record<string, Signature> =>
  Object.fromEntries(
    namesOf(parameters, parts).map(([name, { shape }]) => [name, ["float32", ...shape] as const]),
  );

const feedsOf = (
  parameters: ReadonlyMap<string, ParameterState>,
  parts: readonly StatePart[],
): Record<string, Tensor> =>
  Object.fromEntries(
    namesOf(parameters, parts).map(([name, state, part]) => [
      name,
      { data: state[part], shape: state.shape },
    ]),
  );
