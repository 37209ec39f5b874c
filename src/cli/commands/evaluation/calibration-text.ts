/** The result of `reatt evaluate calibrate` for people. */

import {
  type CalibrationReport,
  calibrationReport,
  type RatedAnswer,
} from "../../../evaluation/calibration-report.ts";
import type { FoundPassageOutcome } from "../../../evaluation/score-calibration.ts";
import { type AnswerCalibration, SIGNAL_NAMES } from "../../../model/answer-calibration.ts";
import type { BlockCalibration } from "../../../model/block-calibration.ts";

import { type ScoreCalibration, scoreCalibrator } from "../../../model/score-calibration.ts";

/** The result of the command. `now` has the confidence that the model gives without this fit. */
export interface Calibrated {
  readonly calibration: AnswerCalibration;
  readonly scoreCalibration: ScoreCalibration;
  /** Undefined if too few blocks answer, or too few do not. */
  readonly blockCalibration?: BlockCalibration;
  /** The most probable block of each question, by cross-validation. */
  readonly firstBlocks: readonly RatedAnswer[];
  readonly now: CalibrationReport;
  readonly crossValidated: CalibrationReport;
  /** The number of questions that the documents do not answer. */
  readonly unanswerable: number;
  /** The confidence of each answer by cross-validation, and whether there is a right answer. */
  readonly rated: readonly (RatedAnswer & { readonly answerable: boolean })[];
  /** The best passages of the questions. */
  readonly found: readonly (readonly FoundPassageOutcome[])[];
}

/** Thresholds that the table shows. */
const THRESHOLDS = [0.05, 0.1, 0.2, 0.3, 0.5];

type Row = readonly [label: string, ...values: string[]];

/** Both confidences beside each other, what thresholds cost, and the fitted weights. */
export function formatCalibration({
  calibration,
  scoreCalibration,
  blockCalibration,
  firstBlocks,
  now,
  crossValidated,
  unanswerable,
  rated,
  found,
}: Calibrated): string {
  const measure = (label: string, show: (report: CalibrationReport) => string): Row => [
    label,
    show(now),
    show(crossValidated),
  ];
  const measures: Row[] = [
    ["", "now", "calibrated (10-fold)"],
    measure("mean confidence, %", ({ meanConfidence }) => percent(meanConfidence)),
    measure("ECE, 15 equal widths, points", ({ ece }) => percent(ece)),
    measure("ECE, 15 equal masses, points", ({ eceEqualMass }) => percent(eceEqualMass)),
    measure("AUROC", ({ auroc }) => auroc!.toFixed(3)),
    measure("area under risk-coverage", ({ aurc }) => aurc.toFixed(3)),
    measure("coverage at 80 % accuracy, %", ({ coverageAt80 }) => percent(coverageAt80)),
  ];
  const costs: Row[] = [
    [
      "threshold",
      "answered, %",
      "of them right, %",
      "right ones lost, %",
      "no answer: abstained, %",
    ],
    ...thresholdsWith(calibration.threshold).map((value) => costOf(value, crossValidated, rated)),
  ];
  const { intercept, signals, threshold } = calibration;
  const weights: Row[] = [
    ["signal", "weight", "curvature", "mean", "deviation"],
    ...SIGNAL_NAMES.map((name): Row => {
      const { weight, curvature, mean, deviation } = signals[name];
      const terms = [weight, curvature].map((value) => value.toFixed(2));
      return [name, ...terms, mean.toFixed(3), deviation.toFixed(3)];
    }),
  ];
  const none = unanswerable === 0 ? "" : `, ${unanswerable} of questions without an answer`;
  return [
    `${now.answers} answers, ${percent(now.accuracy)} % right${none}`,
    ...align(measures),
    "",
    ...align(costs),
    "",
    ...align(weights),
    `intercept ${intercept.toFixed(2)}; a weight is the change of the log odds for one deviation`,
    ...(threshold === undefined ? [] : [`no answer below a confidence of ${threshold}`]),
    "",
    ...blocksText(blockCalibration, firstBlocks),
    scoresText(scoreCalibration, found),
  ].join("\n");
}

/** How the probabilities of the first blocks fit. */
function blocksText(
  calibration: BlockCalibration | undefined,
  first: readonly RatedAnswer[],
): string[] {
  if (!calibration) return [];
  const { accuracy, meanConfidence, ece } = calibrationReport(first);
  return [
    `${first.length} first blocks: ${percent(accuracy)} % answer, mean probability ` +
      `${percent(meanConfidence)} %, ECE ${percent(ece)} points; none below ${calibration.threshold}`,
  ];
}

/** How the scores of passages fit, and the curve that was fitted. */
function scoresText(
  calibration: ScoreCalibration,
  found: readonly (readonly FoundPassageOutcome[])[],
): string {
  const { hybrid, similarity } = calibration;
  const scoreOf = scoreCalibrator(calibration, hybrid?.lambda);
  const rated = found.map((passages) =>
    passages.map(({ words = 0, similarity, relevant: correct }) => ({
      confidence: scoreOf(hybrid ? words + hybrid.lambda * similarity : similarity),
      correct,
    })),
  );
  const describe = (name: string, some: RatedAnswer[]): string => {
    const { accuracy, meanConfidence, ece, auroc } = calibrationReport(some);
    return (
      `scores of ${some.length} ${name}: ${percent(accuracy)} % answer, mean score ` +
      `${percent(meanConfidence)} %, ECE ${percent(ece)} points, AUROC ${auroc?.toFixed(3) ?? "-"}`
    );
  };
  const { intercept, slope } = hybrid ?? similarity;
  return [
    describe("passages", rated.flat()),
    describe(
      "first ones",
      rated.flatMap((passages) => passages.slice(0, 1)),
    ),
    `log odds ${intercept.toFixed(2)} + ${slope.toFixed(3)} x raw score`,
  ].join("\n");
}

const thresholdsWith = (own: number | undefined): number[] =>
  [...new Set([...THRESHOLDS, ...(own === undefined ? [] : [own])])].sort((a, b) => a - b);

/** What a threshold leaves: the answers that reach it. */
function costOf(threshold: number, { curve }: CalibrationReport, rated: Calibrated["rated"]): Row {
  const reached = curve.findLast((point) => point.threshold >= threshold);
  const below = (some: Calibrated["rated"]): string =>
    some.length === 0
      ? "-"
      : percent(some.filter(({ confidence }) => confidence < threshold).length / some.length);
  return [
    String(threshold),
    percent(reached?.coverage ?? 0),
    reached ? percent(reached.accuracy) : "-",
    below(rated.filter(({ correct }) => correct)),
    below(rated.filter(({ answerable }) => !answerable)),
  ];
}

const percent = (share: number): string => (100 * share).toFixed(1);

/** The first column to the left, the others to the right. */
function align(rows: readonly Row[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join("  ")
      .trimEnd(),
  );
}
