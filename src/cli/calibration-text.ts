/** The result of `reatt evaluate calibrate` for people. */

import type { CalibrationReport } from "../evaluation/calibration-report.ts";
import { type AnswerCalibration, SIGNAL_NAMES } from "../model/answer-calibration.ts";

/** The result of the command. `now` has the confidence that the model gives without this fit. */
export interface Calibrated {
  readonly calibration: AnswerCalibration;
  readonly now: CalibrationReport;
  readonly crossValidated: CalibrationReport;
}

/** Thresholds that the table shows. */
const THRESHOLDS = [0.05, 0.1, 0.2, 0.3, 0.5];

type Row = readonly [label: string, ...values: string[]];

/** Both confidences beside each other, what thresholds cost, and the fitted weights. */
export function formatCalibration({ calibration, now, crossValidated }: Calibrated): string {
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
    ["threshold", "answered, %", "of them right, %", "all right, %"],
    ...THRESHOLDS.map((threshold) => costOf(threshold, crossValidated)),
  ];
  const { intercept, weights, threshold } = calibration;
  const terms = SIGNAL_NAMES.map((name) => `${name} ${weights[name].toFixed(3)}`);
  return [
    `${now.answers} answers, ${percent(now.accuracy)} % right`,
    ...align(measures),
    "",
    ...align(costs),
    "",
    `intercept ${intercept.toFixed(3)}, ${terms.join(", ")}`,
    ...(threshold === undefined ? [] : [`no answer below a confidence of ${threshold}`]),
  ].join("\n");
}

/** What a threshold leaves: the answers that reach it. */
function costOf(threshold: number, { curve }: CalibrationReport): Row {
  const reached = curve.findLast((point) => point.threshold >= threshold);
  const { coverage, accuracy } = reached ?? { coverage: 0, accuracy: Number.NaN };
  return [
    String(threshold),
    percent(coverage),
    reached ? percent(accuracy) : "-",
    percent(reached ? coverage * accuracy : 0),
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
