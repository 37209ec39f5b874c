/** Loads the model of `--model`, and shows its download. */

import { ReAtt } from "../reatt.ts";
import { startDownloadProgress } from "./download-progress.ts";

export async function loadModel(name: string, signal: AbortSignal): Promise<ReAtt> {
  const { report, stop } = startDownloadProgress();
  return ReAtt.load(name, { onProgress: report, signal }).finally(stop);
}
