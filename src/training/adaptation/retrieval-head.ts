/** The head that an adaptation trains to retrieve. */

import type { ModelConfig } from "../../model/config.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { Example } from "../examples/example.ts";
import { maskedSpans } from "../examples/sources/masked-spans.ts";
import type { ResolvedAdaptOptions } from "../options/adapt-options.ts";
import type { TrainingEvent } from "../run/events.ts";
import { HEAD_SELECTION_QUESTIONS, needsHead, selectMissingHead } from "../run/select-head.ts";
import type { AdaptationInputs } from "./inputs.ts";

/**
 * The head of `config.json`. If there is none, it is selected with the questions of the adaptation,
 * or else with masked sentences if these are a source.
 */
export async function* retrievalHeadOf(
  options: ResolvedAdaptOptions,
  config: ModelConfig,
  corpus: Corpus,
  { sources, questions }: AdaptationInputs,
): AsyncGenerator<TrainingEvent, number> {
  if (!(await needsHead(options))) return config.retrievalHead;
  const examples: Example[] = [...questions];
  if (sources.names.includes("spans") && questions.length === 0) {
    const { seed, tagger } = options;
    const wanted = HEAD_SELECTION_QUESTIONS;
    for await (const masked of maskedSpans(corpus, { wanted, seed, tagger })) examples.push(masked);
  }
  return yield* selectMissingHead(options, config, corpus, examples);
}
