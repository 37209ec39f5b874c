import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  type AnswerOutcome,
  crossValidatedConfidence,
  fitCalibration,
  thresholdFor,
} from "../../src/evaluation/calibration.ts";
import { InputError } from "../../src/io/errors.ts";
import { mean } from "../../src/math/mean.ts";
import { createRandom } from "../../src/math/random.ts";
import { calibratedConfidence } from "../../src/model/answer-calibration.ts";
import { calibrationOf } from "../support/calibration.ts";

const TRUE = calibrationOf(-1, {
  ...{ likelihood: 1.5, margin: 2, attention: 1, length: -0.8, quoted: 1 },
  ...{ similarity: 2, lead: 1, unmatched: -1 },
});

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
      similarity: random.next(),
      lead: random.next(),
      unmatched: random.next(),
    };
    return { signals, correct: random.next() < calibratedConfidence(TRUE, signals) };
  });
}

test("the fit recovers the model that made the answers", () => {
  const fitted = fitCalibration(simulated(12_000, 0));
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
  for (const name of ["margin", "length"] as const)
    assert.ok(Math.abs(one.signals[name].weight - other.signals[name].weight) < 1e-8);
});

test("a signal with one value gets no weight", () => {
  const outcomes = simulated(100, 4).map(({ signals, correct }) => ({
    signals: { ...signals, quoted: 1 },
    correct,
  }));
  assert.is(fitCalibration(outcomes).signals.quoted.weight, 0);
});

test("rounding is no signal, and an outlier counts as three deviations", () => {
  const random = createRandom("rounding");
  const rounded = simulated(300, 7).map(({ signals, correct }) => ({
    signals: { ...signals, attention: 1 + 1e-7 * (correct ? 1 : random.next()) },
    correct,
  }));
  const fitted = fitCalibration(rounded);
  assert.ok(Math.abs(fitted.signals.attention.weight) < 0.01);
  const { signals } = rounded[0]!;
  const confidenceAt = (likelihood: number) =>
    calibratedConfidence(fitted, { ...signals, likelihood });
  const { mean: centre, deviation } = fitted.signals.likelihood;
  assert.is(confidenceAt(-1e9), confidenceAt(centre - 3 * deviation - 1e-3));
});

test("a signal that an answer lacks counts as its mean", () => {
  const fitted = fitCalibration(simulated(300, 8));
  const { signals } = simulated(1, 9)[0]!;
  assert.is(
    calibratedConfidence(fitted, { ...signals, similarity: undefined }),
    calibratedConfidence(fitted, { ...signals, similarity: fitted.signals.similarity.mean }),
  );
});

test("the threshold loses at most the given share of right answers", () => {
  const answers = Array.from({ length: 100 }, (_, i) => ({
    confidence: i / 100,
    correct: i % 2 > 0,
  }));
  for (const share of [0, 0.05, 0.5]) {
    const threshold = thresholdFor(answers, share);
    const lost = answers.filter(({ confidence, correct }) => correct && confidence < threshold);
    assert.ok(lost.length <= share * 50 && lost.length + 1 > share * 50, `${share}`);
  }
  assert.is(thresholdFor([]), 0);
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
