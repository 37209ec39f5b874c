/**
 * AdamW (Loshchilov and Hutter 2019) with clipping by the global norm. Written over `Ops`: onnx-optimizer.ts and
 * tensorflow-backend.ts compute it.
 */

import type { Ops } from "../../tensor/ops.ts";

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

export type StatePart = "value" | "gradient" | "mean" | "square";

export const STATE_PARTS: readonly StatePart[] = ["value", "gradient", "mean", "square"];

export interface Optimizer {
  /** The global norm of the gradients. */
  norm(): Promise<number>;
  /** Updates all parameters with their gradients. */
  update(move: Move): Promise<void>;
}

export interface Move {
  /** Counts from 1. */
  readonly step: number;
  /** The learning rate. */
  readonly rate: number;
  /** The global norm of the gradients. */
  readonly norm: number;
}

const BETA_MEAN = 0.9;
const BETA_SQUARE = 0.999;
const EPSILON = 1e-8;
const WEIGHT_DECAY = 0.01;
const CLIP_NORM = 1;

export function parameterState(shape: readonly number[], value: Float32Array): ParameterState {
  const zeros = (): Float32Array => new Float32Array(value.length);
  return { shape, value, gradient: zeros(), mean: zeros(), square: zeros() };
}

/** How much of a parameter of this shape decays. */
export const decayOf = (
  shape: readonly number[],
  { weightDecay = WEIGHT_DECAY }: OptimizerOptions,
): number => (shape.length > 1 ? weightDecay : 0);

/** What is the same for all parameters in a step. */
export interface StepScalars<T> {
  /** What gradients are multiplied by. */
  readonly clip: T;
  /** The learning rate. */
  readonly rate: T;
  readonly meanCorrection: T;
  readonly squareCorrection: T;
}

/** `scalar` makes a tensor of no axes. */
export function stepScalars<T>(
  { step, rate, norm }: Move,
  { clipNorm = CLIP_NORM }: OptimizerOptions,
  scalar: (value: number) => T,
): StepScalars<T> {
  return {
    clip: scalar(Math.min(1, clipNorm / norm)),
    rate: scalar(rate),
    meanCorrection: scalar(1 / (1 - BETA_MEAN ** step)),
    squareCorrection: scalar(1 / (1 - BETA_SQUARE ** step)),
  };
}

/** The sum of squares of all numbers of some tensors: no axes. */
export function sumOfSquares<T>(ops: Ops<T>, tensors: readonly T[]): T {
  const sums = tensors.map((x) => {
    const axes = ops.shape(x).map((_, axis) => axis);
    return ops.sum(ops.multiply(x, x), axes);
  });
  return sums.reduce((total, sum) => ops.add(total, sum));
}

/**
 * With `g` the clipped gradient: `mean = b1 mean + (1 - b1) g`, `square = b2 square + (1 - b2) g^2`,
 * `value = (1 - rate decay) value - rate (mean meanCorrection) / (sqrt(square squareCorrection) + epsilon)`.
 */
export function adamW<T>(
  ops: Ops<T>,
  { value, gradient, mean, square }: Record<StatePart, T>,
  { clip, rate, meanCorrection, squareCorrection }: StepScalars<T>,
  decay: number,
): Record<Exclude<StatePart, "gradient">, T> {
  const average = (beta: number, old: T, now: T): T =>
    ops.add(ops.multiply(old, ops.scalar(beta)), ops.multiply(now, ops.scalar(1 - beta)));
  const clipped = ops.multiply(gradient, clip);
  const newMean = average(BETA_MEAN, mean, clipped);
  const newSquare = average(BETA_SQUARE, square, ops.multiply(clipped, clipped));
  const spread = ops.add(ops.sqrt(ops.multiply(newSquare, squareCorrection)), ops.scalar(EPSILON));
  const move = ops.divide(ops.multiply(newMean, ops.multiply(meanCorrection, rate)), spread);
  const kept = ops.subtract(ops.scalar(1), ops.multiply(rate, ops.scalar(decay)));
  const decayed = decay === 0 ? value : ops.multiply(value, kept);
  return { value: ops.subtract(decayed, move), mean: newMean, square: newSquare };
}
