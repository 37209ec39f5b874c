/** Loads the model of `--model`, and shows its download. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { EMBEDDED_MODEL } from "../../hub/model-name.ts";
import { modelTitle } from "../../hub/model-title.ts";
import { InputError } from "../../io/errors.ts";
import { CONFIG_FILE } from "../../model/config-file.ts";
import { ReAtt } from "../../reatt.ts";
import { readHeader } from "../../retrieval/maintain.ts";
import { startDownloadProgress } from "../output/download-progress.ts";
import type { IndexPlace } from "./file-options.ts";

export async function loadModel(name: string, signal: AbortSignal): Promise<ReAtt> {
  const { report, stop } = startDownloadProgress();
  return ReAtt.load(name, { onProgress: report, signal }).finally(stop);
}

/**
 * As `loadModel`, for a command that searches: without an index, it fails before it loads.
 *
 * @param name Default: the model that made the index
 */
export async function loadModelFor(
  indexes: readonly IndexPlace[],
  name: string | undefined,
  signal: AbortSignal,
): Promise<ReAtt> {
  const made: string[] = [];
  for (const { directory } of indexes) made.push(await modelOf(directory, name === undefined));
  const other = made.findIndex((model) => model !== made[0]);
  if (name === undefined && other > 0)
    throw new InputError({
      where: "--index",
      expected: "indexes of one model",
      got: `${made[0]} of ${indexes[0]!.directory}, ${made[other]} of ${indexes[other]!.directory}`,
      remedy: "give --index with those of one model",
    });
  return loadModel(name ?? made[0]!, signal);
}

/**
 * The model that made an index. One of the hub is not downloaded unasked.
 *
 * @param isNeeded whether it has to be there
 * @throws {InputError} without an index, and if a model that is needed is not where it was
 */
async function modelOf(index: string, isNeeded: boolean): Promise<string> {
  const { model } = await readHeader(index);
  const isOfPackage = !model || (!model.path && model.title === modelTitle(EMBEDDED_MODEL));
  if (isOfPackage || !isNeeded) return EMBEDDED_MODEL;
  const folder = model.path === undefined ? undefined : resolve(index, model.path);
  if (folder !== undefined && existsSync(join(folder, CONFIG_FILE))) return folder;
  throw new InputError({
    where: index,
    expected: `its model ${model.title}${folder === undefined ? "" : `, in ${folder}`}`,
    got: folder === undefined ? "no --model" : "no model there",
    remedy: "give --model with the folder or the name of the model",
  });
}
