/**
 * AdamW with clipping by the global gradient norm, over `Ops`. onnx-backend.ts and
 * tensorflow-backend.ts compute it.
 *
 * Source: Loshchilov and Hutter 2019, algorithm 2.
 */

import type { Ops } from "../../tensor/ops.ts";

export interface OptimizerOptions {
  /** Weight decay of matrices. Norms and learned scalars do not decay. Default 0.01. */
  readonly weightDecay?: number | undefined;
  /** Names of matrices that do not decay. Default none. */
  readonly withoutDecay?: ReadonlySet<string> | undefined;
  /** Gradients with a larger global norm are scaled down to it. Default 1. */
  readonly clipNorm?: number | undefined;
  /**
   * Names of parameters that are clipped by a norm of their own. At a low temperature, the gradient
   * of the head weights is a thousand times that of all others together. Default none.
   */
  readonly clippedApart?: ReadonlySet<string> | undefined;
}

/** Global norms of the gradients before clipping. */
export interface GradientNorms {
  /** Of all parameters, but for those that are clipped apart. */
  readonly main: number;
  /** Of those that are clipped apart. */
  readonly apart: number;
}

/** The optimiser's state of one parameter. All arrays are updated in place. */
export interface ParameterState {
  readonly shape: readonly number[];
  readonly value: Float32Array;
  readonly gradient: Float32Array;
  /** Moving average of the gradient. */
  readonly firstMoment: Float32Array;
  /** Moving average of the squared gradient. */
  readonly secondMoment: Float32Array;
}

export const STATE_ARRAYS = ["value", "gradient", "firstMoment", "secondMoment"] as const;

export type StateArray = (typeof STATE_ARRAYS)[number];

export interface Optimizer {
  gradientNorms(): Promise<GradientNorms>;
  /** Updates all parameters with their gradients. */
  update(update: OptimizerUpdate): Promise<void>;
}

export interface OptimizerUpdate {
  /** Counts from 1. */
  readonly step: number;
  readonly learningRate: number;
  readonly norms: GradientNorms;
}

const BETA_1 = 0.9;
const BETA_2 = 0.999;
const EPSILON = 1e-8;
const WEIGHT_DECAY = 0.01;
const CLIP_NORM = 1;

/** The state of a parameter before the first step. */
export function parameterState(shape: readonly number[], value: Float32Array): ParameterState {
  const zeros = (): Float32Array => new Float32Array(value.length);
  return { shape, value, gradient: zeros(), firstMoment: zeros(), secondMoment: zeros() };
}

/** How a parameter is updated. */
export interface ParameterRule {
  /** Its weight decay. */
  readonly decay: number;
  /** The norm that its gradient is clipped by. */
  readonly norm: keyof GradientNorms;
}

export const ruleOf = (
  name: string,
  shape: readonly number[],
  { weightDecay = WEIGHT_DECAY, withoutDecay, clippedApart }: OptimizerOptions,
): ParameterRule => ({
  decay: shape.length > 1 && !withoutDecay?.has(name) ? weightDecay : 0,
  norm: clippedApart?.has(name) ? "apart" : "main",
});

/** Scalars that are the same for all parameters in a step. */
export interface UpdateScalars<T> {
  /** Factors that clip the gradients. */
  readonly clip: Readonly<Record<keyof GradientNorms, T>>;
  readonly learningRate: T;
  /** Bias corrections, `1 / (1 - beta^step)`. */
  readonly firstCorrection: T;
  readonly secondCorrection: T;
}

/** `scalar` makes a tensor of shape []. */
export function updateScalars<T>(
  { step, learningRate, norms }: OptimizerUpdate,
  { clipNorm = CLIP_NORM }: OptimizerOptions,
  scalar: (value: number) => T,
): UpdateScalars<T> {
  return {
    clip: {
      main: scalar(Math.min(1, clipNorm / norms.main)),
      apart: scalar(Math.min(1, clipNorm / norms.apart)),
    },
    learningRate: scalar(learningRate),
    firstCorrection: scalar(1 / (1 - BETA_1 ** step)),
    secondCorrection: scalar(1 / (1 - BETA_2 ** step)),
  };
}

/** The sum of squares of all values of the gradients that are clipped by each norm: -> [] each. */
export function sumsOfSquares<T>(
  ops: Ops<T>,
  gradients: ReadonlyMap<string, T>,
  options: OptimizerOptions,
): Record<keyof GradientNorms, T> {
  const sums: Partial<Record<keyof GradientNorms, T>> = {};
  for (const [name, x] of gradients) {
    const axes = ops.shape(x).map((_, axis) => axis);
    const square = ops.sum(ops.multiply(x, x), axes);
    const { norm } = ruleOf(name, [], options);
    const before = sums[norm];
    sums[norm] = before === undefined ? square : ops.add(before, square);
  }
  const { main = ops.scalar(0), apart = ops.scalar(0) } = sums;
  return { main, apart };
}

/**
 * One update of one parameter. With g the clipped gradient, m and v the moments, r the learning
 * rate and d the weight decay:
 *
 *     m = b1 m + (1 - b1) g
 *     v = b2 v + (1 - b2) g^2
 *     value = (1 - r d) value - r (m firstCorrection) / (sqrt(v secondCorrection) + epsilon)
 */
export function adamW<T>(
  ops: Ops<T>,
  { value, gradient, firstMoment, secondMoment }: Record<StateArray, T>,
  { clip, learningRate, firstCorrection, secondCorrection }: UpdateScalars<T>,
  { decay, norm }: ParameterRule,
): Record<Exclude<StateArray, "gradient">, T> {
  const average = (beta: number, old: T, now: T): T =>
    ops.add(ops.multiply(old, ops.scalar(beta)), ops.multiply(now, ops.scalar(1 - beta)));
  const clipped = ops.multiply(gradient, clip[norm]);
  const first = average(BETA_1, firstMoment, clipped);
  const second = average(BETA_2, secondMoment, ops.multiply(clipped, clipped));
  const root = ops.add(ops.sqrt(ops.multiply(second, secondCorrection)), ops.scalar(EPSILON));
  const change = ops.divide(ops.multiply(first, ops.multiply(firstCorrection, learningRate)), root);
  const kept = ops.subtract(ops.scalar(1), ops.multiply(learningRate, ops.scalar(decay)));
  const decayed = decay === 0 ? value : ops.multiply(value, kept);
  return { value: ops.subtract(decayed, change), firstMoment: first, secondMoment: second };
}
