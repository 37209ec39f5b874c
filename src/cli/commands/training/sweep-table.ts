/** What the command line says at the end of a run at several learning rates. */

import type { SweepResult, Trial } from "../../../training/sweep.ts";
import { indexLines, writtenLines } from "./run-summary.ts";

/**
 * A row for the given model and one for each learning rate, the verdicts, and what is kept.
 *
 * @param corpus as it was given, for the command that indexes it
 */
export function sweepTable(
  { folder, trials, finished, best }: SweepResult,
  corpus: string | undefined,
): string {
  const last = trials.at(-1)!;
  if (!finished)
    return (
      `Stopped at learning rate ${nameOf(last)} after step ${last.result.step}. ` +
      "To continue: the same command with --resume"
    );
  const { result } = best ?? trials.find((one) => one.result.diverged === undefined)!;
  const { before, hybrid } = result.outcome!;
  const rows = [
    ["learning rate", "kept", ...Object.keys(before), "hybrid mrr"],
    ["", "given model", ...shares(before), ...shares([hybrid.before.mrr!])],
    ...trials.map(rowOf),
  ];
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return [
    ...rows.map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join("  ")
        .trimEnd(),
    ),
    "",
    ...trials.map((one) => `${nameOf(one)}: ${one.result.verdict ?? one.result.diverged}`),
    ...indexLines({ ...result, folder }, corpus),
    ...writtenLines(result),
    `Kept: ${best ? `learning rate ${nameOf(best)}` : "the given model"}, in ${folder}`,
  ].join("\n");
}

const nameOf = ({ learningRate }: Trial): string => learningRate.toExponential();

function rowOf(trial: Trial): string[] {
  const { outcome, diverged } = trial.result;
  if (diverged !== undefined || !outcome) return [nameOf(trial), "diverged"];
  const kept = outcome.step === 0 ? "given model" : `step ${outcome.step}`;
  const hybrid = outcome.hybrid.after.mrr!;
  return [nameOf(trial), kept, ...shares(outcome.after), ...shares([hybrid])];
}

/** In percent. */
const shares = (measures: Readonly<Record<string, number>> | readonly number[]): string[] =>
  Object.values(measures).map((share) => (100 * share).toFixed(1));
