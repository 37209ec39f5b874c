/** What the commands that write an index have in common: bits, and the progress of a build in its two stages. */

import type { Bits } from "../retrieval/codec/codec.ts";
import type { BuildProgress } from "../retrieval/index/write/build.ts";
import { type Progress, startProgress } from "./progress.ts";

export const BITS_OPTION = {
  kind: "choice",
  help: "bits a dimension of a compressed index; without it, keys stay float32",
  choices: ["1", "2", "4", "8"],
} as const;

export const parseBits = (given: "1" | "2" | "4" | "8" | undefined): Bits | undefined =>
  given === undefined ? undefined : (Number(given) as Bits);

/** Shows `total` passages being encoded, and then, in a compressed index, being compressed. */
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
