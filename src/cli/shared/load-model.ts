/** Loads the model of `--model`, and shows its download. */

import { ReAtt } from "../../reatt.ts";
import { readHeader } from "../../retrieval/maintain.ts";
import { startDownloadProgress } from "../output/download-progress.ts";
import type { IndexPlace } from "./file-options.ts";

export async function loadModel(name: string, signal: AbortSignal): Promise<ReAtt> {
  const { report, stop } = startDownloadProgress();
  return ReAtt.load(name, { onProgress: report, signal }).finally(stop);
}

/** As `loadModel`, for a command that searches: without an index, it fails before it loads. */
export async function loadModelFor(
  indexes: readonly IndexPlace[],
  name: string,
  signal: AbortSignal,
): Promise<ReAtt> {
  for (const { directory } of indexes) await readHeader(directory);
  return loadModel(name, signal);
}
