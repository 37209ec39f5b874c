/** What the commands that write an index share: bits, and the progress of a build. */

import { z } from "zod";
import { option } from "../options/option.ts";
import type { Bits } from "../retrieval/codec/codec.ts";
import type { BuildProgress } from "../retrieval/index/write/build.ts";
import { type Progress, startProgress } from "./progress.ts";

export const BITS = option(z.literal([1, 2, 4, 8] satisfies Bits[], "1, 2, 4, 8").optional(), {
  help: "bits of each dimension in a compressed index",
  placeholder: "1|2|4|8",
  defaultText: "float32 keys, not compressed",
  parse: Number,
});

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
