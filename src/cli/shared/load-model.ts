/** Loads the model of `--model`, and shows its download. */

import { ReAtt } from "../../reatt.ts";
import { readHeader } from "../../retrieval/maintain.ts";
import { startDownloadProgress } from "../output/download-progress.ts";

export async function loadModel(name: string, signal: AbortSignal): Promise<ReAtt> {
  const { report, stop } = startDownloadProgress();
  return ReAtt.load(name, { onProgress: report, signal }).finally(stop);
}

/** As `loadModel`, for a command that searches: without an index, it fails before it loads. */
export async function loadModelFor(
  index: string,
  name: string,
  signal: AbortSignal,
): Promise<ReAtt> {
  await readHeader(index);
  return loadModel(name, signal);
}
