/**
 * Measures of confidence: how near it is to the share of right answers, and how well it separates
 * right answers from wrong ones.
 *
 * Sources: Guo et al. 2017, "On Calibration of Modern Neural Networks", section 2 (ECE, reliability
 * diagram); El-Yaniv and Wiener 2010, "On the Foundations of Noise-free Selective Classification"
 * (risk-coverage curve); Hanley and McNeil 1982 (AUROC as a probability of pairs).
 */

import { z } from "zod";
import { mean } from "../math/mean.ts";
import { checkData } from "../options/data.ts";
import { flag, number } from "../options/option.ts";

/** The confidence of an answer, and whether the answer is right. */
export interface RatedAnswer {
  /** From 0 to 1. */
  readonly confidence: number;
  /** Whether the answer is right. */
  readonly correct: boolean;
}

/** A threshold of confidence, and what follows if only answers that reach it are given. */
export interface CoveragePoint {
  /** Answers with at least this confidence are given. */
  readonly threshold: number;
  /** The share of questions that are answered. */
  readonly coverage: number;
  /** The share of right answers among those. 1 - accuracy is the risk. */
  readonly accuracy: number;
}

export interface CalibrationReport {
  /** The number of answers. */
  readonly answers: number;
  /** The share of right answers. */
  readonly accuracy: number;
  /** The mean of their confidences. */
  readonly meanConfidence: number;
  /** Expected calibration error over 15 bins of equal width, from 0 to 1. */
  readonly ece: number;
  /** Expected calibration error over 15 bins with equal numbers of answers, from 0 to 1. */
  readonly eceEqualMass: number;
  /**
   * The probability that a right answer has a higher confidence than a wrong one; ties count half.
   * Undefined unless there are answers of both kinds.
   */
  readonly auroc: number | undefined;
  /** The area under the risk-coverage curve: 0 is perfect, 1 - accuracy is chance. */
  readonly aurc: number;
  /** The highest coverage with an accuracy of at least 80 %; 0 if no threshold reaches it. */
  readonly coverageAt80: number;
  /** The risk-coverage curve: a point for each distinct confidence, highest confidence first. */
  readonly curve: readonly CoveragePoint[];
}

const ratedAnswers = z.array(
  z.object({ confidence: number({ from: 0, to: 1 }), correct: flag() }, "{ confidence, correct }"),
  "a list of { confidence, correct }",
);
const RATED_ANSWERS = {
  where: "answers",
  remedy: "take the confidence from replies of read or answer",
};

const BINS = 15;
const TARGET_ACCURACY = 0.8;

/**
 * Measures the confidence of n answers. With the bins B of a partition,
 *
 *     ECE  = sum_b |B_b| / n * | accuracy(B_b) - mean confidence(B_b) |
 *     AURC = 1 / n * sum_k risk of the k most confident answers
 *
 * Bins of equal width divide [0, 1]: bin b has the confidences from b / 15 to below (b + 1) / 15,
 * the last one with 1. Bins of equal mass divide the answers by rank; equal confidences are in one
 * bin. In AURC, the right answers among equal confidences are spread evenly, which is the mean over
 * their orders.
 *
 * @example
 * ```ts
 * import { calibrationReport } from "reatt/evaluation";
 *
 * const { ece, auroc, coverageAt80 } = calibrationReport([
 *   { confidence: 0.9, correct: true },
 *   { confidence: 0.6, correct: false },
 *   { confidence: 0.2, correct: false },
 * ]);
 * console.log(ece.toFixed(2), auroc, coverageAt80.toFixed(2)); // 0.30 1 0.33
 * ```
 */
export function calibrationReport(answers: readonly RatedAnswer[]): CalibrationReport {
  checkData(ratedAnswers, answers, RATED_ANSWERS);
  const groups = groupsByConfidence(answers);
  const curve = coverageCurve(groups, answers.length);
  const reached = curve.filter(({ accuracy }) => accuracy >= TARGET_ACCURACY);
  return {
    answers: answers.length,
    accuracy: mean(answers.map(({ correct }) => Number(correct))),
    meanConfidence: mean(answers.map(({ confidence }) => confidence)),
    ece: calibrationError(groups, ({ confidence }) => Math.floor(BINS * confidence)),
    eceEqualMass: calibrationError(groups, ({ before }) =>
      Math.floor((BINS * before) / answers.length),
    ),
    auroc: auroc(groups),
    aurc: areaUnderRisk(groups, answers.length),
    coverageAt80: reached.at(-1)?.coverage ?? 0,
    curve,
  };
}

/** Answers of equal confidence. */
interface Group {
  readonly confidence: number;
  readonly count: number;
  readonly right: number;
  /** Number of answers with a higher confidence. */
  readonly before: number;
}

/** Highest confidence first. */
function groupsByConfidence(answers: readonly RatedAnswer[]): Group[] {
  const counts = new Map<number, { count: number; right: number }>();
  for (const { confidence, correct } of answers) {
    const { count, right } = counts.get(confidence) ?? { count: 0, right: 0 };
    counts.set(confidence, { count: count + 1, right: right + Number(correct) });
  }
  let before = 0;
  return [...counts]
    .sort(([a], [b]) => b - a)
    .map(([confidence, group]) => {
      const placed = { confidence, ...group, before };
      before += group.count;
      return placed;
    });
}

function coverageCurve(groups: readonly Group[], answers: number): CoveragePoint[] {
  let right = 0;
  return groups.map((group) => {
    right += group.right;
    const given = group.before + group.count;
    return {
      threshold: group.confidence,
      coverage: given / answers,
      accuracy: right / given,
    };
  });
}

function calibrationError(groups: readonly Group[], binOf: (group: Group) => number): number {
  const differences = new Array<number>(BINS).fill(0); // right answers - sum of confidences
  let answers = 0;
  for (const group of groups) {
    const bin = Math.min(BINS - 1, binOf(group));
    differences[bin]! += group.right - group.count * group.confidence;
    answers += group.count;
  }
  return answers === 0 ? 0 : differences.reduce((sum, d) => sum + Math.abs(d), 0) / answers;
}

function auroc(groups: readonly Group[]): number | undefined {
  let pairs = 0; // of a right answer and a wrong one of lower confidence; a tie is half a pair
  let rightBefore = 0;
  let wrong = 0;
  for (const { count, right } of groups) {
    pairs += (count - right) * (rightBefore + right / 2);
    rightBefore += right;
    wrong += count - right;
  }
  return rightBefore * wrong === 0 ? undefined : pairs / (rightBefore * wrong);
}

function areaUnderRisk(groups: readonly Group[], answers: number): number {
  let sum = 0;
  let wrong = 0;
  for (const { count, right, before } of groups) {
    const wrongEach = (count - right) / count;
    for (let k = 1; k <= count; k++) sum += (wrong + k * wrongEach) / (before + k);
    wrong += count - right;
  }
  return answers === 0 ? 0 : sum / answers;
}
