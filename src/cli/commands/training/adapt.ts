/** `reatt adapt`: adapts a model to another corpus, with or without labels. */

import { type AdaptationResult, adapt } from "../../../training/adapt.ts";
import { ADAPT_OPTIONS } from "../../../training/options/adapt-options.ts";
import { INDEX_PASSAGE_TOKENS } from "../../../training/plan/pace.ts";
import { defineFileCommand } from "../../line/command.ts";
import { describeCut } from "../../output/build-progress.ts";
import { JSON_LINES } from "../../shared/file-options.ts";
import { runSummary } from "./run-summary.ts";
import { printRun, showEventsUntil } from "./training-events.ts";

export const adaptCommand = defineFileCommand({
  options: { ...ADAPT_OPTIONS, json: JSON_LINES },
  example: "reatt adapt --corpus docs --out adapted --dry-run",
  library: { adapt },
  run: ({ json, ...options }, signal, _, { adapt }) =>
    printRun(
      withCutTokens(adapt({ ...options, signal })),
      json,
      showEventsUntil(signal),
      (result) => runSummary(result, { command: "adapt", corpus: options.corpus }),
    ),
});

/** Says how much of long passages was cut, before the result. */
async function* withCutTokens<Event>(
  run: AsyncGenerator<Event, AdaptationResult>,
): AsyncGenerator<Event, AdaptationResult> {
  const result = yield* run;
  process.stderr.write(describeCut(result.cut, INDEX_PASSAGE_TOKENS));
  return result;
}
