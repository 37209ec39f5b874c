/** AdamW against a plain loop in float64. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { openOnnxOptimizer } from "../../../src/training/engine/onnx-backend.ts";
import { type ParameterState, parameterState } from "../../../src/training/engine/optimizer.ts";
import { HEAD_WEIGHTS } from "../../../src/training/objectives/trained-parameters.ts";
import { learningRateAt } from "../../../src/training/run/schedule.ts";
import { assertNear } from "../../support/arrays.ts";
import { BACKENDS } from "../../support/backends.ts";
import { drawn } from "../../support/draws.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { ONE_THREAD } from "../../support/training.ts";

const SHAPES: Readonly<Record<string, readonly number[]>> = {
  matrix: [3, 4],
  norm: [5],
  scale: [],
};
const WEIGHT_DECAY = 0.1;
const CLIP_NORM = 2;

const valuesOf = (shape: readonly number[], seed: string): Float32Array =>
  drawn(shape, -1, 1, seed).data as Float32Array;

/** Every second step is clipped. */
const gradientOf = (name: string, step: number): Float32Array =>
  valuesOf(SHAPES[name]!, `gradient ${step}`).map((x) => (step % 2 === 0 ? 0.1 : 3) * x);

/** Loshchilov and Hutter 2019, algorithm 2, after clipping to `CLIP_NORM`. -> values by name */
function naiveAdamW(steps: number, rate: (step: number) => number): Record<string, number[]> {
  const value: Record<string, number[]> = {};
  const first: Record<string, number[]> = {};
  const second: Record<string, number[]> = {};
  for (const [name, shape] of Object.entries(SHAPES)) {
    value[name] = [...valuesOf(shape, name)];
    first[name] = value[name].map(() => 0);
    second[name] = value[name].map(() => 0);
  }
  for (let step = 1; step <= steps; step++) {
    const all = Object.keys(SHAPES).flatMap((name) => [...gradientOf(name, step)]);
    const norm = Math.hypot(...all);
    const clip = norm > CLIP_NORM ? CLIP_NORM / norm : 1;
    for (const [name, shape] of Object.entries(SHAPES))
      gradientOf(name, step).forEach((gradient, i) => {
        const g = clip * gradient;
        first[name]![i] = 0.9 * first[name]![i]! + 0.1 * g;
        second[name]![i] = 0.999 * second[name]![i]! + 0.001 * g * g;
        const direction =
          first[name]![i]! /
          (1 - 0.9 ** step) /
          (Math.sqrt(second[name]![i]! / (1 - 0.999 ** step)) + 1e-8);
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
      parameterState(shape, valuesOf(shape, name)),
    ]),
  );

test("AdamW with clipping, bias correction, and decay of matrices only", async () => {
  const parameters = states();
  const options = { weightDecay: WEIGHT_DECAY, clipNorm: CLIP_NORM };
  await using optimizer = await openOnnxOptimizer(parameters, options, ONE_THREAD);
  const rate = (step: number): number => 0.1 / step;
  for (let step = 1; step <= 5; step++) {
    for (const [name, { gradient }] of parameters) gradient.set(gradientOf(name, step));
    const norms = await optimizer.gradientNorms();
    const expected = Math.hypot(
      ...Object.keys(SHAPES).flatMap((name) => [...gradientOf(name, step)]),
    );
    assertNear([norms.main], [expected], 1e-6);
    await optimizer.update({ step, learningRate: rate(step), norms });
  }
  const expected = naiveAdamW(5, rate);
  for (const [name, { value }] of parameters) assertNear(value, expected[name]!, 2e-6, name);
});

test("with a gradient of 0, only weight decay changes values", async () => {
  const parameters = states();
  await using optimizer = await openOnnxOptimizer(parameters, {}, ONE_THREAD);
  assert.equal(await optimizer.gradientNorms(), { main: 0, apart: 0 });
  await optimizer.update({ step: 1, learningRate: 0.5, norms: { main: 0, apart: 0 } });
  for (const [name, { value, shape }] of parameters) {
    const kept = shape.length > 1 ? 1 - 0.5 * 0.01 : 1;
    assertNear(
      value,
      valuesOf(shape, name).map((x) => kept * x),
      1e-6,
      name,
    );
  }
});

for (const [engine, open] of Object.entries(BACKENDS))
  test(`${engine}: the gradient of head weights clips no other one`, async () => {
    const config = tinyConfig();
    const settings = {
      trained: { names: new Set<string>(), rows: new Map() },
      clippedApart: new Set([HEAD_WEIGHTS]),
    };
    /** Values after a step with these gradients of the head weights. */
    const updated = async (ofHeads: number): Promise<Record<string, Float32Array>> => {
      const all = { [HEAD_WEIGHTS]: [3], matrix: [3, 4] };
      const parameters = new Map(
        Object.entries(all).map(([name, shape]) => {
          const state = parameterState(shape, valuesOf(shape, name));
          state.gradient.fill(name === "matrix" ? 0.01 : ofHeads);
          state.firstMoment.fill(0.02); // so that the size of a gradient counts
          return [name, state];
        }),
      );
      const trained = { ...settings.trained, names: new Set(parameters.keys()) };
      await using backend = await open(config, parameters, { ...settings, trained, dropout: 0 });
      const { optimizer } = backend;
      const norms = await optimizer.gradientNorms();
      assertNear([norms.main, norms.apart], [0.01 * 12 ** 0.5, ofHeads * 3 ** 0.5], 1e-6);
      await optimizer.update({ step: 1, learningRate: 0.1, norms });
      await backend.read(parameters.keys());
      return Object.fromEntries([...parameters].map(([name, { value }]) => [name, value]));
    };
    const [small, large] = [await updated(0.01), await updated(1000)];
    assert.equal(large.matrix, small.matrix);
    assert.not.equal(large[HEAD_WEIGHTS], small[HEAD_WEIGHTS]);
  });

test("the learning rate warms up over a tenth of the steps and falls to nothing", () => {
  const rates = Array.from({ length: 20 }, (_, i) =>
    learningRateAt(i + 1, { first: 0, steps: 20, peak: 0.38, warmUp: 0.1 }),
  );
  assertNear(rates.slice(0, 4), [0.19, 0.38, 0.36, 0.34], 1e-12);
  assertNear(rates.slice(-2), [0.04, 0.02], 1e-12);
  assertNear(
    [1, 2, 3].map((step) => learningRateAt(step, { first: 0, steps: 3, peak: 0.3, warmUp: 0.1 })),
    [0.3, 0.2, 0.1],
    1e-12,
  );
  assert.is(learningRateAt(1, { first: 0, steps: 1, peak: 0.3, warmUp: 0.1 }), 0.3);
});

test.run();
