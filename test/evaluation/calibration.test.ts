import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  type AnswerOutcome,
  crossValidatedConfidence,
  fitCalibration,
} from "../../src/evaluation/calibration.ts";
import { InputError } from "../../src/io/errors.ts";
import { mean } from "../../src/math/mean.ts";
import { createRandom } from "../../src/math/random.ts";
import { calibratedConfidence } from "../../src/model/answer-calibration.ts";

const TRUE = {
  intercept: -1,
  weights: { likelihood: 1.5, margin: 2, attention: 1, length: -0.8, quoted: 1 },
};

/** Answers that are right with the probability that `TRUE` gives. */
function simulated(count: number, seed: number): AnswerOutcome[] {
  const random = createRandom("calibration", seed);
  return Array.from({ length: count }, () => {
    const signals = {
      likelihood: -2 * random.next(),
      margin: random.next(),
      attention: random.next(),
      length: Math.log(1 + random.integer(10)),
      quoted: random.integer(2),
    };
    return { signals, correct: random.next() < calibratedConfidence(TRUE, signals) };
  });
}

test("the fit recovers the model that made the answers", () => {
  const fitted = fitCalibration(simulated(4_000, 0));
  for (const { signals } of simulated(100, 1)) {
    const difference = calibratedConfidence(fitted, signals) - calibratedConfidence(TRUE, signals);
    assert.ok(Math.abs(difference) < 0.08, `${difference}`); // standard errors are near 0.02
  }
});

test("the mean confidence is the share of right answers, and the order does not matter", () => {
  const outcomes = simulated(200, 2);
  const fitted = fitCalibration(outcomes);
  const confidence = mean(outcomes.map(({ signals }) => calibratedConfidence(fitted, signals)));
  const share = mean(outcomes.map(({ correct }) => Number(correct)));
  assert.ok(Math.abs(confidence - share) < 1e-9); // as the intercept has no penalty
  const reversed = fitCalibration(outcomes.toReversed());
  assert.ok(Math.abs(reversed.intercept - fitted.intercept) < 1e-9);
});

test("the unit of a signal does not matter", () => {
  const outcomes = simulated(200, 3);
  const scaled = outcomes.map(({ signals, correct }) => ({
    signals: { ...signals, margin: 100 * signals.margin + 7 },
    correct,
  }));
  const [one, other] = [fitCalibration(outcomes), fitCalibration(scaled)];
  assert.ok(Math.abs(one.weights.margin - 100 * other.weights.margin) < 1e-8);
  assert.ok(Math.abs(one.weights.length - other.weights.length) < 1e-8);
});

test("a signal with one value gets no weight", () => {
  const outcomes = simulated(100, 4).map(({ signals, correct }) => ({
    signals: { ...signals, quoted: 1 },
    correct,
  }));
  assert.is(fitCalibration(outcomes).weights.quoted, 0);
});

test("cross-validation does not use the answers of an outcome's own group", () => {
  const outcomes = simulated(120, 5);
  const groups = outcomes.map((_, i) => `passage ${i % 30}`);
  const before = crossValidatedConfidence(outcomes, groups);
  const flipped = outcomes.map((outcome, i) =>
    groups[i] === "passage 3" ? { ...outcome, correct: !outcome.correct } : outcome,
  );
  const after = crossValidatedConfidence(flipped, groups);
  for (const [i, group] of groups.entries())
    if (group === "passage 3") assert.is(after[i], before[i]);
  assert.not.equal(after, before);
});

test("answers that are nearly all right or wrong are refused", () => {
  const outcomes = simulated(50, 6).map(({ signals }, i) => ({ signals, correct: i < 9 }));
  for (const fit of [fitCalibration, () => crossValidatedConfidence(outcomes, Array(50).fill("g"))])
    assert.throws(
      () => fit(outcomes),
      (error: Error) =>
        error instanceof InputError && /at least 10 right .*got 9 right, 41/.test(error.message),
    );
});

test.run();
