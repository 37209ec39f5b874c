/** Stores what was fitted for a model in `config.json` of its folder, or of a copy of it. */

import { resolve } from "node:path";
import { beginFolder, endFolder } from "../io/unfinished-folder.ts";
import type { ModelConfig } from "./config.ts";
import { CONFIG_FILE, checkNoModel, readConfig, writeConfig } from "./config-file.ts";
import { copyModelFiles } from "./model-folder.ts";

/**
 * Changes `config.json` in one step.
 *
 * @param folder the folder of the model
 * @param fitted what to store
 * @param out a folder for a copy of the model: its files are copied, `config.json` last, so that a
 * half-written copy cannot be loaded; or `folder` itself, where only `config.json` changes
 * @throws {InputError} if `folder` has no model, `out` has another one, or the disk refuses
 */
export async function storeInConfig(
  folder: string,
  fitted: Pick<ModelConfig, "calibration" | "blockCalibration" | "scoreCalibration" | "pruning">,
  out: string,
): Promise<void> {
  const config = await readConfig(folder);
  const isCopy = resolve(out) !== resolve(folder);
  if (isCopy) {
    await beginModelFolder(folder, out);
    await copyModelFiles(folder, out, { weights: true });
  }
  await writeConfig(out, { ...config, ...fitted }, folder);
  if (isCopy) await endFolder(out);
}

/** @throws {InputError} if `out` has a model, unless it is `folder` */
export async function checkModelFolder(folder: string, out: string): Promise<void> {
  if (resolve(out) === resolve(folder)) return;
  await checkNoModel(out, `name another folder, or ${folder} to change its ${CONFIG_FILE} only`);
}

/** Creates `out` for a copy of `folder`, or takes that of a call that was stopped. */
export async function beginModelFolder(folder: string, out: string): Promise<void> {
  await checkModelFolder(folder, out);
  if (resolve(out) !== resolve(folder)) await beginFolder(out);
}
