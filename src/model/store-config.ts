/** Stores what was fitted for a model in `config.json` of its folder, or of a copy of it. */

import { resolve } from "node:path";
import { createOutputDirectory } from "../io/create-directory.ts";
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
  if (resolve(out) !== resolve(folder)) await copyFiles(folder, out);
  await writeConfig(out, { ...config, ...fitted }, folder);
}

/** @throws {InputError} if `out` has a model, unless it is `folder` */
export async function checkModelFolder(folder: string, out: string): Promise<void> {
  if (resolve(out) === resolve(folder)) return;
  await checkNoModel(out, `name another folder, or ${folder} to change its ${CONFIG_FILE} only`);
}

async function copyFiles(folder: string, out: string): Promise<void> {
  await checkModelFolder(folder, out);
  await createOutputDirectory(out);
  await copyModelFiles(folder, out, { weights: true });
}
