/** Stores calibrations of answers and of passages in the folder of a model, or in a copy of it. */

import { z } from "zod";
import { checkPath } from "../options/arguments.ts";
import { checkData } from "../options/data.ts";
import { type AnswerCalibration, AnswerCalibrationFile } from "./answer-calibration.ts";
import { type BlockCalibration, BlockCalibrationFile } from "./block-calibration.ts";
import { type ScoreCalibration, ScoreCalibrationFile } from "./score-calibration.ts";
import { storeInConfig } from "./store-config.ts";

const EXPECTED = "one or more of { calibration, blockCalibration, scoreCalibration }";
const fittedFile = z
  .strictObject(
    {
      calibration: AnswerCalibrationFile.optional(),
      blockCalibration: BlockCalibrationFile.optional(),
      scoreCalibration: ScoreCalibrationFile.optional(),
    },
    EXPECTED,
  )
  .refine((given) => Object.values(given).some((own) => own !== undefined), EXPECTED);

/** What `storeCalibration` stores: at least one. */
export interface FittedCalibrations {
  /** That of answers, from `fitCalibration`. Default: the one that the model has. */
  readonly calibration?: AnswerCalibration;
  /** That of blocks, from `fitBlockCalibration`. Default: as above. */
  readonly blockCalibration?: BlockCalibration | undefined;
  /** That of the scores of passages, from `fitScoreCalibration`. Default: as above. */
  readonly scoreCalibration?: ScoreCalibration;
}

/**
 * Writes calibrations to `config.json`, in one step: those of answers and of blocks, which training
 * and adaptation keep if they leave all weights as they are that reading uses, and that of the
 * scores of passages, which they keep. One that is left out stays as it is.
 *
 * @param folder the folder of the model
 * @param out a folder for a copy of the model: all files are copied, `config.json` last, so that a
 * half-written copy cannot be loaded. Default: `folder` itself, where only `config.json` changes
 * @throws {InputError} if an argument is wrong, `folder` has no model, `out` has one already, or
 * the disk refuses.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { storeCalibration } from "reatt/evaluation";
 *
 * const out = join(mkdtempSync(join(tmpdir(), "reatt-")), "calibrated");
 * const none = { weight: 0, curvature: 0, mean: 0, deviation: 1 };
 * const signals = {
 *   likelihood: { weight: 1, curvature: 0, mean: -0.5, deviation: 0.4 },
 *   margin: none, attention: none, length: none, quoted: none,
 *   similarity: none, lead: none, unmatched: none, emptiness: none,
 *   missing: none, unknown: none,
 * };
 * const calibration = { intercept: 0, signals, threshold: 0.1 };
 * await storeCalibration("models/reatt-mini", { calibration }, out);
 * ```
 */
export async function storeCalibration(
  folder: string,
  fitted: FittedCalibrations,
  out: string = folder,
): Promise<void> {
  checkPath(folder, "folder");
  checkPath(out, "out");
  checkData(fittedFile, fitted, {
    where: "fitted",
    remedy: "take them from fitCalibration, fitBlockCalibration and fitScoreCalibration",
  });
  const given = Object.entries(fitted).filter(([, own]) => own !== undefined);
  await storeInConfig(folder, Object.fromEntries(given), out);
}
