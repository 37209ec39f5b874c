import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { calibrationReport, type RatedAnswer } from "../../src/evaluation/calibration-report.ts";
import { mean } from "../../src/math/mean.ts";

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 1e-9, `${actual}, expected ${expected}`);

const rated = (...answers: readonly [confidence: number, correct: 0 | 1][]): RatedAnswer[] =>
  answers.map(([confidence, correct]) => ({ confidence, correct: correct === 1 }));

test("four answers, worked by hand", () => {
  const report = calibrationReport(rated([0.9, 1], [0.92, 0], [0.5, 1], [0.1, 0]));
  // Equal widths: 0.9 and 0.92 share the bin from 13/15: |1/2 - 0.91| of two; |1 - 0.5|; |0 - 0.1|
  near(report.ece, (2 * 0.41 + 0.5 + 0.1) / 4);
  near(report.eceEqualMass, (0.92 + 0.1 + 0.5 + 0.1) / 4); // a bin each
  near(report.auroc!, 2 / 4); // right above wrong: (0.9, 0.1), (0.5, 0.1)
  near(report.aurc, (1 + 1 / 2 + 1 / 3 + 2 / 4) / 4);
  near(report.accuracy, 0.5);
  near(report.meanConfidence, 2.42 / 4);
  assert.is(report.coverageAt80, 0);
  assert.equal(
    report.curve.map(({ threshold, coverage }) => [threshold, coverage]),
    [
      [0.92, 0.25],
      [0.9, 0.5],
      [0.5, 0.75],
      [0.1, 1],
    ],
  );
});

test("coverage at 80 % is the largest that reaches it, also after a dip", () => {
  const answers = rated([0.9, 0], [0.8, 1], [0.7, 1], [0.6, 1], [0.5, 1], [0.4, 0]);
  near(calibrationReport(answers).coverageAt80, 5 / 6);
});

test("confidences of 1 and 0 are in the last bin and the first", () => {
  near(calibrationReport(rated([1, 1], [0, 0])).ece, 0);
  near(calibrationReport(rated([1, 0], [0, 1])).ece, 1);
});

test("no answers, and answers of one kind", () => {
  assert.is(calibrationReport([]).ece, 0);
  assert.is(calibrationReport(rated([0.3, 1])).auroc, undefined);
});

/** Few values, so that there are ties. */
const answers = fc.array(
  fc.record({ confidence: fc.integer({ min: 0, max: 20 }), correct: fc.boolean() }),
  { minLength: 1, maxLength: 60 },
);

test("the measures equal those of plain loops", () =>
  fc.assert(
    fc.property(answers, (drawn) => {
      const all = drawn.map(({ confidence, correct }) => ({
        confidence: confidence / 20,
        correct,
      }));
      const report = calibrationReport(all);
      near(report.ece, naiveEce(all));
      const auroc = naiveAuroc(all);
      if (Number.isNaN(auroc)) assert.is(report.auroc, undefined);
      else near(report.auroc!, auroc);
      for (const { threshold, coverage, accuracy } of report.curve) {
        const given = all.filter(({ confidence }) => confidence >= threshold);
        near(coverage, given.length / all.length);
        near(accuracy, mean(given.map(({ correct }) => Number(correct))));
      }
    }),
  ));

test("the area under the curve is the mean over the orders of ties", () => {
  const tied = rated([0.8, 1], [0.5, 0], [0.5, 1], [0.5, 1], [0.2, 0]);
  // The wrong answer of 0.5 as the second, third or fourth
  const areas = [1, 2, 3].map((place) => {
    const wrong = [0, 0, 0, 0, 1].map((value, i) => (i === place ? 1 : value));
    return mean(wrong.map((_, k) => mean(wrong.slice(0, k + 1))));
  });
  near(calibrationReport(tied).aurc, mean(areas));
});

function naiveEce(all: readonly RatedAnswer[]): number {
  let error = 0;
  for (let bin = 0; bin < 15; bin++) {
    const own = all.filter(({ confidence }) =>
      bin === 14 ? confidence >= 14 / 15 : confidence >= bin / 15 && confidence < (bin + 1) / 15,
    );
    const gap =
      mean(own.map(({ correct }) => Number(correct))) -
      mean(own.map(({ confidence }) => confidence));
    error += (own.length / all.length) * Math.abs(gap);
  }
  return error;
}

function naiveAuroc(all: readonly RatedAnswer[]): number {
  const [right, wrong] = [true, false].map((kind) => all.filter(({ correct }) => correct === kind));
  const pairs = right!.flatMap((a) =>
    wrong!.map((b) => (Math.sign(a.confidence - b.confidence) + 1) / 2),
  );
  return pairs.length === 0 ? Number.NaN : mean(pairs);
}

test.run();
