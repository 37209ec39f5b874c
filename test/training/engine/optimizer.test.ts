/** AdamW against a plain loop in float64. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { openOnnxOptimizer } from "../../../src/training/engine/onnx-optimizer.ts";
import { type ParameterState, parameterState } from "../../../src/training/engine/optimizer.ts";
import { learningRateAt } from "../../../src/training/run/schedule.ts";
import { assertNear } from "../../support/arrays.ts";
import { drawn } from "../../support/draws.ts";
import { ONE_THREAD } from "../../support/training.ts";

const SHAPES: Readonly<Record<string, readonly number[]>> = {
  matrix: [3, 4],
  norm: [5],
  scale: [],
};
const WEIGHT_DECAY = 0.1;
const CLIP_NORM = 2;

const numbersOf = (shape: readonly number[], seed: string): Float32Array =>
  drawn(shape, -1, 1, seed).data as Float32Array;

/** Every other step is clipped. */
const gradientOf = (name: string, step: number): Float32Array =>
  numbersOf(SHAPES[name]!, `gradient ${step}`).map((x) => (step % 2 === 0 ? 0.1 : 3) * x);

/** Loshchilov and Hutter 2019, algorithm 2, with gradients clipped to `CLIP_NORM` before. -> values by name */
function naiveAdamW(steps: number, rate: (step: number) => number): Record<string, number[]> {
  const value: Record<string, number[]> = {};
  const mean: Record<string, number[]> = {};
  const square: Record<string, number[]> = {};
  for (const [name, shape] of Object.entries(SHAPES)) {
    value[name] = [...numbersOf(shape, name)];
    mean[name] = value[name].map(() => 0);
    square[name] = value[name].map(() => 0);
  }
  for (let step = 1; step <= steps; step++) {
    const all = Object.keys(SHAPES).flatMap((name) => [...gradientOf(name, step)]);
    const norm = Math.hypot(...all);
    const clip = norm > CLIP_NORM ? CLIP_NORM / norm : 1;
    for (const [name, shape] of Object.entries(SHAPES))
      gradientOf(name, step).forEach((gradient, i) => {
        const g = clip * gradient;
        mean[name]![i] = 0.9 * mean[name]![i]! + 0.1 * g;
        square[name]![i] = 0.999 * square[name]![i]! + 0.001 * g * g;
        const direction =
          mean[name]![i]! /
          (1 - 0.9 ** step) /
          (Math.sqrt(square[name]![i]! / (1 - 0.999 ** step)) + 1e-8);
        const decay = shape.length > 1 ? WEIGHT_DECAY * value[name]![i]! : 0;
        value[name]![i]! -= rate(step) * (direction + decay);
      });
  }
  return value;
}

const states = (): Map<string, ParameterState> =>
  new Map(
    Object.entries(SHAPES).map(([name, shape]) => [
      name,
      parameterState(shape, numbersOf(shape, name)),
    ]),
  );

test("updates as AdamW does: clipping, bias correction, decay of matrices alone", async () => {
  const parameters = states();
  const options = { weightDecay: WEIGHT_DECAY, clipNorm: CLIP_NORM };
  await using optimizer = await openOnnxOptimizer(parameters, options, ONE_THREAD);
  const rate = (step: number): number => 0.1 / step;
  for (let step = 1; step <= 5; step++) {
    for (const [name, { gradient }] of parameters) gradient.set(gradientOf(name, step));
    const norm = await optimizer.norm();
    const expected = Math.hypot(
      ...Object.keys(SHAPES).flatMap((name) => [...gradientOf(name, step)]),
    );
    assertNear([norm], [expected], 1e-6);
    await optimizer.update({ step, rate: rate(step), norm });
  }
  const expected = naiveAdamW(5, rate);
  for (const [name, { value }] of parameters) assertNear(value, expected[name]!, 2e-6, name);
});

test("a gradient of 0 moves nothing but what decays", async () => {
  const parameters = states();
  await using optimizer = await openOnnxOptimizer(parameters, {}, ONE_THREAD);
  assert.is(await optimizer.norm(), 0);
  await optimizer.update({ step: 1, rate: 0.5, norm: 0 });
  for (const [name, { value, shape }] of parameters) {
    const kept = shape.length > 1 ? 1 - 0.5 * 0.01 : 1;
    assertNear(
      value,
      numbersOf(shape, name).map((x) => kept * x),
      1e-6,
      name,
    );
  }
});

test("the learning rate warms up over a tenth of the steps and falls to nothing", () => {
  const rates = Array.from({ length: 20 }, (_, i) => learningRateAt(i + 1, 20, 0.38));
  assertNear(rates.slice(0, 4), [0.19, 0.38, 0.36, 0.34], 1e-12);
  assertNear(rates.slice(-2), [0.04, 0.02], 1e-12);
  assertNear(
    [1, 2, 3].map((step) => learningRateAt(step, 3, 0.3)),
    [0.3, 0.2, 0.1],
    1e-12,
  );
  assert.is(learningRateAt(1, 1, 0.3), 0.3);
});

test.run();
