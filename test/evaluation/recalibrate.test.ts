/** Calibrations that are fitted anew, or not, by questions with a known answer. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { calibrationReport } from "../../src/evaluation/calibration-report.ts";
import { type AskedQuestion, recalibrate } from "../../src/evaluation/recalibrate.ts";
import { createRandom } from "../../src/math/random.ts";
import { calibratedConfidence } from "../../src/model/answer-calibration.ts";
import { blockProbability } from "../../src/model/block-calibration.ts";
import { calibrationOf } from "../support/calibration.ts";

/** Answers that are right with the probability 1 / (1 + exp(-(shift + 2 x likelihood))). */
function askedOf(count: number, shift: number): AskedQuestion[] {
  const random = createRandom("recalibrate", count, shift);
  return Array.from({ length: count }, (_, i) => {
    const likelihood = 4 * random.next() - 2;
    const correct = random.next() < 1 / (1 + Math.exp(-(shift + 2 * likelihood)));
    const signals = { likelihood, margin: 0.5, attention: 0.3, length: 1, quoted: 1 };
    const block = { lead: 0, words: 3, unmatched: 0, missing: 0, emptiness: -4 };
    return {
      group: `${i}`,
      answer: { signals, correct },
      blocks: [{ signals: { ...block, attention: likelihood }, correct }],
    };
  });
}

/** What is true where `shift` is 0, with a threshold that a model had before. */
const GIVEN = calibrationOf(0, { likelihood: 2 }, 0.2);
const none = { weight: 0, curvature: 0, mean: 0, deviation: 1 };
const BLOCKS = {
  intercept: 0,
  signals: {
    ...{ attention: { ...none, weight: 2 }, lead: none, words: none, unmatched: none },
    ...{ missing: none, unknown: none, emptiness: none, similarity: none, similarityLead: none },
  },
  threshold: 0.2,
};

test("answers of another kind: both are fitted anew, and new questions find them right", () => {
  const given = { calibration: GIVEN, blockCalibration: BLOCKS };
  const { calibration, blockCalibration } = recalibrate(askedOf(300, -2), given);
  const others = askedOf(2_000, -2);
  const errorOf = (confidenceOf: (asked: AskedQuestion) => number): number =>
    calibrationReport(
      others.map((asked) => ({ confidence: confidenceOf(asked), correct: asked.answer!.correct })),
    ).ece;
  const before = errorOf(({ answer }) => calibratedConfidence(GIVEN, answer!.signals));
  const after = errorOf(({ answer }) => calibratedConfidence(calibration!, answer!.signals));
  const ofBlocks = errorOf(({ blocks }) => blockProbability(blockCalibration!, blocks[0]!.signals));
  assert.ok(before > 0.2, `${before}`);
  assert.ok(Math.max(after, ofBlocks) < 0.05, `${after}, ${ofBlocks}`);
  for (const { threshold } of [calibration!, blockCalibration!])
    assert.ok(
      threshold! > 0 && threshold! < 0.5,
      `${threshold}: it loses 5 % of the right answers`,
    );
});

test("the old ones stay where they are right, and where questions are few", () => {
  const given = { calibration: GIVEN, blockCalibration: BLOCKS };
  assert.equal(recalibrate(askedOf(300, 0), given), {});
  assert.equal(recalibrate(askedOf(40, 0), given), {});
  assert.equal(recalibrate(askedOf(12, -2), given), {});
  assert.equal(recalibrate([], given), {});
});

test("a model without a calibration gets none, one without a threshold none", () => {
  assert.equal(recalibrate(askedOf(300, -2), {}), {});
  const { threshold: _, ...withoutThreshold } = GIVEN;
  const { calibration, ...rest } = recalibrate(askedOf(300, -2), { calibration: withoutThreshold });
  assert.is(calibration!.threshold, undefined);
  assert.equal(rest, {});
});

test.run();
