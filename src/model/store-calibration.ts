/** Stores a calibration of answers in the folder of a model, or in a copy of it. */

import { checkPath } from "../options/arguments.ts";
import { type AnswerCalibration, checkCalibration } from "./answer-calibration.ts";
import { storeInConfig } from "./store-config.ts";

/**
 * Writes the calibration to `config.json`, in one step. Training and
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
 * const none = { weight: 0, curvature: 0, mean: 0, deviation: 1 };
 * const signals = {
 *   likelihood: { weight: 1, curvature: 0, mean: -0.5, deviation: 0.4 },
 *   margin: none, attention: none, length: none, quoted: none,
 *   similarity: none, lead: none, unmatched: none,
 * };
 * await storeCalibration("models/reatt-mini", { intercept: 0, signals, threshold: 0.1 }, out);
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
