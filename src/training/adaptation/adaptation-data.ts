/** The training data of an adaptation: its sources, mixed, and the retrieval monitor's set. */

import { createHash } from "node:crypto";
import type { ProgressEvent } from "../../io/progress.ts";
import type { Corpus } from "../data/corpus.ts";
import { labelledQueryData } from "../data/labelled-query-data.ts";
import { maskedSentenceData } from "../data/masked-sentence-data.ts";
import { mixedData, type WeightedData } from "../data/mixed-data.ts";
import { questionData } from "../data/question-data.ts";
import { loadMaskedSentences } from "../data/sample-masked-sentences.ts";
import type { TrainingData } from "../data/training-data.ts";
import type { ResolvedAdaptOptions, SourceName } from "../options/adapt-options.ts";
import { wantedSentences } from "./example-counts.ts";
import { type AdaptationInputs, holdOut } from "./inputs.ts";
import { createMonitorSet } from "./monitor-set.ts";

/** @throws {InputError} if masked sentences are a source and the corpus has no sentence to mask. */
export async function* adaptationData(
  options: ResolvedAdaptOptions,
  corpus: Corpus,
  { sources, questions, labelled }: AdaptationInputs,
): AsyncGenerator<ProgressEvent, TrainingData> {
  const { seed, steps, questions: perStep, tagger, weights = {} } = options;
  const all = sources.includes("spans")
    ? yield* loadMaskedSentences(options, corpus, wantedSentences(options, sources), tagger)
    : [];
  const sentences = options.dev === undefined ? holdOut(all, seed) : { training: all, heldOut: [] };
  const dataOf: Record<SourceName, () => TrainingData> = {
    spans: () => maskedSentenceData(options, corpus, sentences.training, options),
    questions: () => questionData(options, corpus, questions.training),
    labels: () => labelledQueryData(options, corpus, labelled.training),
  };
  const weighted = sources.map(
    (name): WeightedData => ({ name, weight: weights[name] ?? 1, data: dataOf[name]() }),
  );
  const data = mixedData(weighted, { examples: steps * perStep, seed });
  yield { type: "stage", name: "preparing the retrieval monitor" };
  const monitorSet = await createMonitorSet(options, corpus, {
    sentences: sentences.heldOut,
    questions: questions.heldOut,
    labelled: labelled.heldOut,
  });
  const identity = [data.digest, monitorSet.questions, monitorSet.every];
  return {
    ...data,
    digest: createHash("sha256").update(JSON.stringify(identity)).digest("hex"),
    monitorSet: monitorSet.questions.length > 0 ? monitorSet : undefined,
  };
}
