/** What the commands that write an index share: the progress of a build. */

import type { CutText } from "../../retrieval/index/format/manifest.ts";
import type { BuildProgress } from "../../retrieval/index/write/build.ts";
import { type Progress, startProgress } from "./progress.ts";

/**
 * Shows how many of `total` passages are encoded and then, for a compressed index, compressed.
 *
 * @param started when the encoding began, if that was before
 */
export function startBuildProgress(
  total: number,
  started: number = performance.now(),
): {
  readonly report: (progress: BuildProgress) => void;
  readonly stop: () => void;
  /** The text that was cut. */
  readonly cut: () => CutText | undefined;
} {
  let encoding: Progress | undefined;
  let compressing: Progress | undefined;
  let lastCut: CutText | undefined;
  return {
    cut: () => lastCut,
    report({ event, passages, cut }) {
      lastCut = cut ?? lastCut;
      const note = lastCut ? `${lastCut.tokens} tokens cut` : undefined;
      if (event === "finished") return;
      if (event === "publishing") {
        encoding?.stop();
        encoding = undefined;
        process.stderr.write("replacing passages of the collection …\n");
        return;
      }
      if (event === "compressed") {
        if (compressing) return compressing.update(passages);
        encoding?.stop();
        encoding = undefined;
        if (passages === 0) process.stderr.write("learning a codebook …\n");
        compressing = startProgress("passages compressed", total);
        return compressing.resume(passages);
      }
      compressing?.stop(); // an import into a store goes on with the codebook
      compressing = undefined;
      encoding ??= startProgress("passages", total, started); // one report can have all of them
      if (event === "encoded") encoding.update(passages, note);
      else encoding.resume(passages);
    },
    stop() {
      encoding?.stop();
      compressing?.stop();
    },
  };
}

/** A line about the text that was cut, if any. */
export function describeCut(cut: CutText | undefined, maxPassageTokens: number): string {
  if (!cut || cut.passages === 0) return "";
  const { passages, tokens } = cut;
  const subject = passages === 1 ? "1 passage is" : `${passages} passages are`;
  return (
    `warning: ${subject} longer than ${maxPassageTokens} tokens; ${tokens} tokens ` +
    "are cut and cannot be found\n"
  );
}
