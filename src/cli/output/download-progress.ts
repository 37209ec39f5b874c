/** The progress of a download from the Hugging Face hub. */

import type { DownloadProgress } from "../../hub/download.ts";
import { type Progress, startProgress } from "./progress.ts";

const megabytes = (bytes: number): number => Math.ceil(bytes / 1e6);

/** Shows how many megabytes are there. Shows nothing if nothing is downloaded. */
export function startDownloadProgress(): {
  readonly report: (progress: DownloadProgress) => void;
  readonly stop: () => void;
} {
  let shown: Progress | undefined;
  let last = -1;
  return {
    report(progress) {
      if (progress.event === "waiting") {
        process.stderr.write(`Another process downloads ${progress.model}: waiting for it …\n`);
        return;
      }
      const done = megabytes(progress.bytes);
      if (done === last) return;
      last = done;
      if (shown) return shown.update(done);
      shown = startProgress(`MB of ${progress.model}`, megabytes(progress.total));
      shown.resume(done);
    },
    stop: () => shown?.stop(),
  };
}
