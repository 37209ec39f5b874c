import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  derivatives,
  fitLogistic,
  penalisedLoss,
} from "../../src/evaluation/logistic-regression.ts";
import { createRandom } from "../../src/math/random.ts";

const near = (actual: number, expected: number, tolerance: number): void =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual}, expected ${expected}`);

const logit = (p: number): number => Math.log(p / (1 - p));

/** `right` of `count` observations with these values. */
const repeat = (row: readonly number[], count: number, right: number) =>
  Array.from({ length: count }, (_, i) => ({ row, label: i < right }));

test("two groups: the model gives each its share, worked by hand", () => {
  // 3 of 4 without the property, 1 of 5 with it: p = 3/4 and 1/5
  const all = [...repeat([1, 0], 4, 3), ...repeat([1, 1], 5, 1)];
  const [intercept, weight] = fitLogistic(
    all.map(({ row }) => row),
    all.map(({ label }) => label),
    [0, 0],
  );
  near(intercept!, Math.log(3), 1e-9);
  near(weight!, Math.log(1 / 4) - Math.log(3), 1e-9);
});

test("a penalty alone keeps separable data finite", () => {
  // One weight for x = -1 (wrong) and x = 1 (right): the minimum of 2 log(1 + exp(-w)) + w^2 / 2,
  // where w = 2 / (1 + exp(w))
  const [weight] = fitLogistic([[-1], [1]], [false, true], [1]);
  near(weight!, 2 / (1 + Math.exp(weight!)), 1e-9);
  near(weight!, 0.6748, 1e-4);
});

test("an observation that counts twice is as two", () => {
  const { rows, labels, penalties } = randomProblem(7);
  const counts = rows.map((_, i) => i % 3);
  const repeated = counts.flatMap((count, i) => new Array<number>(count).fill(i));
  const expected = fitLogistic(
    repeated.map((i) => rows[i]!),
    repeated.map((i) => labels[i]!),
    penalties,
  );
  const fitted = fitLogistic(rows, labels, penalties, counts);
  for (const [j, value] of fitted.entries()) near(value, expected[j]!, 1e-9);
});

function randomProblem(seed: number) {
  const random = createRandom("logistic", seed);
  const draw = () => 4 * random.next() - 2;
  const rows = Array.from({ length: 40 }, () => [1, draw(), 5 * draw(), draw()]);
  const labels = rows.map((row) => row[1]! + draw() > 0);
  return { rows, labels, penalties: [0, 1, 0.5, 2], at: [draw(), draw(), draw(), draw()] };
}

test("gradient and Hessian equal central differences", () => {
  const STEP = 1e-5;
  for (let seed = 0; seed < 5; seed++) {
    const { rows, labels, penalties, at } = randomProblem(seed);
    const moved = (j: number, by: number) => at.map((w, k) => (k === j ? w + by : w));
    const { gradient, hessian } = derivatives(rows, labels, penalties, at);
    for (const j of at.keys()) {
      const [above, below] = [moved(j, STEP), moved(j, -STEP)];
      const loss = (w: readonly number[]) => penalisedLoss(rows, labels, penalties, w);
      near(gradient[j]!, (loss(above) - loss(below)) / (2 * STEP), 1e-6);
      const gradientAt = (w: readonly number[]) => derivatives(rows, labels, penalties, w).gradient;
      const [high, low] = [gradientAt(above), gradientAt(below)];
      for (const k of at.keys()) near(hessian[j]![k]!, (high[k]! - low[k]!) / (2 * STEP), 1e-5);
    }
  }
});

test("at the fitted coefficients the loss is least", () => {
  for (let seed = 0; seed < 5; seed++) {
    const { rows, labels, penalties, at } = randomProblem(seed);
    const fitted = fitLogistic(rows, labels, penalties);
    const loss = (w: readonly number[]) => penalisedLoss(rows, labels, penalties, w);
    for (const slope of derivatives(rows, labels, penalties, fitted).gradient) near(slope, 0, 1e-8);
    for (const scale of [1, 0.1, 0.01])
      assert.ok(loss(fitted.map((w, j) => w + scale * at[j]!)) > loss(fitted));
  }
});

test("an unpenalised intercept alone is the log odds", () => {
  const labels = Array.from({ length: 50 }, (_, i) => i < 7);
  const [intercept] = fitLogistic(
    labels.map(() => [1]),
    labels,
    [0],
  );
  near(intercept!, logit(7 / 50), 1e-9);
});

test.run();
