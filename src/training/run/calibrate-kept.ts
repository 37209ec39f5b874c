/** The last stage of a run that changed what reads: fits the calibrations of the kept model. */

import { join } from "node:path";
import { type Calibrations, recalibrate } from "../../evaluation/recalibrate.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import { storeInConfig } from "../../model/store-config.ts";
import { askHeldOut } from "../verdict/ask-held-out.ts";
import { withIndexedModel } from "./current-model.ts";
import { isStopped, type RunState } from "./run-state.ts";

/**
 * Fits the calibrations of answers and of blocks to the model that is saved, if the given one has
 * them and held-out questions show that new ones are better (`recalibrate`). With a time limit it
 * asks as many questions as the time that it reserves allows.
 *
 * @returns what was done, in a sentence; undefined if the run was stopped meanwhile. A run that is
 *   resumed begins this stage again
 */
export async function* calibrateKept(
  state: RunState,
): AsyncGenerator<ProgressEvent, string | undefined> {
  const { run, set, corpus, budget } = state;
  const { calibration, blockCalibration } = run.config;
  if (!calibration && !blockCalibration) return "";
  const given = {
    ...(calibration && { calibration }),
    ...(blockCalibration && { blockCalibration }),
  };
  if (!set) return calibrationText(0, given, {});
  await storeInConfig(run.out, given, run.out); // signals do not depend on a stage before
  const seconds = budget?.calibrationAfter ?? Infinity;
  const started = performance.now();
  const isOver = (): boolean => isStopped(state) || performance.now() - started > 1000 * seconds;
  try {
    const location = join(run.folder, "checkpoint", ...(set.passages ? ["monitor"] : []));
    const { maxPassageTokens } = run.batch;
    const asked = yield* withIndexedModel(
      set.passages ?? corpus,
      { location, model: run.out, maxPassageTokens, ...run.device, signal: run.signal },
      (model, index) => askHeldOut(model, index, set, isOver),
    );
    if (isStopped(state)) return undefined;
    const fitted = recalibrate(asked, given);
    if (Object.keys(fitted).length > 0) await storeInConfig(run.out, fitted, run.out);
    return calibrationText(asked.length / 2, given, fitted);
  } catch (error) {
    if (isStopped(state)) return undefined;
    throw error;
  }
}

const NAMES = { calibration: "answers", blockCalibration: "blocks" } as const;

/** How the model comes to its confidence now. */
function calibrationText(questions: number, given: Calibrations, fitted: Calibrations): string {
  const had = Object.keys(given) as (keyof Calibrations)[];
  const old = had.filter((name) => !(name in fitted)).map((name) => NAMES[name]);
  const anew = had.filter((name) => name in fitted).map((name) => NAMES[name]);
  const isFitted = `fitted to this model on ${questions} held-out questions`;
  if (old.length === 0) return `confidence and abstention are by a calibration ${isFitted}`;
  const isOld =
    `by the calibration of the given model: ${questions || "no"} held-out questions are too few ` +
    "to fit a better one; " +
    "reatt evaluate calibrate fits one to this model";
  return anew.length === 0
    ? `confidence and abstention are ${isOld}`
    : `confidence of ${anew.join()} is ${isFitted}, and that of ${old.join()} ${isOld}`;
}
