/** Measures as a report shows them. */

import type { Measures } from "../../evaluation/measures.ts";

/** What a model is compared with: BM25. */
export interface Baseline {
  readonly name: string;
  readonly measures: Measures;
}

/** A share is a number from 0 to 1 that is shown in per cent. */
export type Unit = "share" | "number";

/** `0.4567` as a share -> `45.7 %`; as a number four digits, with a power of ten where it is small or large: `5e-5`. */
export function formatNumber(value: number, unit: Unit): string {
  if (unit === "share") return `${(100 * value).toFixed(1)} %`;
  return formatExactly(Number(value.toPrecision(4)));
}

/** A mark of an axis, which has as many digits as it needs. */
export const formatTick = (tick: number, unit: Unit): string =>
  unit === "share" ? `${Number((100 * tick).toPrecision(12))} %` : formatExactly(tick);

function formatExactly(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential().replace("+", "");
  return value.toLocaleString("en-US", { maximumFractionDigits: 12 });
}

/** `12345` -> `12,345`. */
export const formatCount = (value: number): string => value.toLocaleString("en-US");

const LABELS: Readonly<Record<string, string>> = {
  exactMatch: "EM",
  f1: "F1",
  kl: "batch",
  ownKl: "own passages",
  scale: "exp(s)",
  ownProbability: "probability",
  gradientNorm: "norm",
  learningRate: "rate",
  questionsPerSecond: "questions/s",
};

/** `recall@5` -> `R@5`, `exactMatch` -> `EM`. */
export const measureLabel = (name: string): string =>
  LABELS[name] ?? name.replace(/^recall@/, "R@");
