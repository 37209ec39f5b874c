/** A run as the options that the engine reads. */

import type { ResolvedOptions } from "../options/train-options.ts";
import type { Run } from "./run.ts";

export function flatOptions(run: Run): ResolvedOptions {
  const { part, layers, tau } = run;
  return {
    ...{ tau, copies: "once", dropout: run.optimizer.dropout },
    ...run.objective,
    ...run.batch,
    ...run.device,
    querySide: part === "query" ? (layers === undefined ? "projection" : "layers") : undefined,
    readerOnly: part === "reader",
    headOnly: part === "head",
    trainedLayers: part === "retrieval" ? layers : undefined,
  };
}
