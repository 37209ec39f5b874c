/** What the commands that write an index share: the progress of a build. */

import type { BuildProgress } from "../retrieval/index/write/build.ts";
import { type Progress, startProgress } from "./progress.ts";

/** Shows how many of `total` passages are encoded and then, for a compressed index, compressed. */
export function startBuildProgress(total: number): {
  readonly report: (progress: BuildProgress) => void;
  readonly stop: () => void;
} {
  let encoding: Progress | undefined;
  let compressing: Progress | undefined;
  return {
    report({ event, passages }) {
      if (event === "finished") return;
      if (event === "compressed") {
        if (compressing) return compressing.update(passages);
        encoding?.stop();
        compressing = startProgress("passages compressed", total);
        return compressing.resume(passages);
      }
      encoding ??= startProgress("passages", total);
      if (event === "encoded") encoding.update(passages);
      else encoding.resume(passages);
    },
    stop() {
      encoding?.stop();
      compressing?.stop();
    },
  };
}
