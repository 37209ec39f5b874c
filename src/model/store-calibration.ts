/** Stores a calibration of answers in the folder of a model, or in a copy of it. */

import { checkPath } from "../options/arguments.ts";
import { type AnswerCalibration, checkCalibration } from "./answer-calibration.ts";
import { storeInConfig } from "./store-config.ts";

/**
 * Writes the calibration as `answer_calibration` to `config.json`, in one step. Training and
 * adaptation keep it if they leave all weights as they are that reading uses.
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
 * import { storeCalibration } from "reatt";
 *
 * const out = join(mkdtempSync(join(tmpdir(), "reatt-")), "calibrated");
 * const weights = { likelihood: 1, margin: 2, attention: 1, length: -0.5, quoted: 0.5 };
 * await storeCalibration("models/reatt-mini", { intercept: -2, weights, threshold: 0.1 }, out);
 * ```
 */
export async function storeCalibration(
  folder: string,
  calibration: AnswerCalibration,
  out: string = folder,
): Promise<void> {
  checkPath(folder, "folder");
  checkPath(out, "out");
  checkCalibration(calibration);
  await storeInConfig(folder, { calibration }, out);
}
