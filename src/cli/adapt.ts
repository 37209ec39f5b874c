/** `reatt adapt`: adapts a model to another corpus, with or without labels. */

import type { HybridWeights } from "../model/config.ts";
import { type AdaptationResult, adapt } from "../training/adapt.ts";
import { ADAPT_OPTIONS } from "../training/options/adapt-options.ts";
import { defineCommand } from "./command.ts";
import { JSON_LINES } from "./file-options.ts";
import { printEvents, showEvents } from "./training-events.ts";

export const adaptCommand = defineCommand({
  options: { ...ADAPT_OPTIONS, json: JSON_LINES },
  example: "reatt adapt --model models/reatt-mini --corpus corpus.jsonl --out adapted --dry-run",
  async run({ json, ...options }, signal) {
    const events = adapt({ ...options, signal });
    const result = await (json ? printEvents(events) : showEvents(events));
    process.stdout.write(
      `${json ? JSON.stringify({ type: "result", ...result }) : summaryOf(result)}\n`,
    );
  },
});

function summaryOf({ plan, training, index }: AdaptationResult): string {
  if (!training) return plan.samples.join("\n\n");
  const { folder, report, step, finished, failure, monitor } = training;
  const reason = failure ? `: ${failure}; kept the model of step ${monitor?.step ?? 0}` : "";
  return [
    `${finished && !failure ? "Finished" : "Stopped"} after step ${step}${reason}: ${folder}`,
    ...(finished ? [] : ["The same command with --resume continues"]),
    `Report: ${report}`,
    ...(index ? [`Index: ${index}`] : []),
    ...(finished && monitor?.hybrid ? [hybridLine(monitor.hybrid.weights)] : []),
  ].join("\n");
}

const hybridLine = ({ lambda }: HybridWeights): string =>
  `Hybrid search: BM25 + ${lambda} x the model; reatt answer and reatt retrieve --hybrid rank so`;
