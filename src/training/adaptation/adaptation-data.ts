/** The training data of an adaptation: its sources, mixed, and the retrieval monitor's set. */

import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { ProgressEvent } from "../../io/progress.ts";
import { answerable } from "../examples/answerable.ts";
import type { Corpus } from "../examples/corpus.ts";
import { labelFreeData } from "../examples/label-free-data.ts";
import { labelledQueryData } from "../examples/labelled-query-data.ts";
import { maskedSentenceData } from "../examples/masked-sentence-data.ts";
import { mixedData, type WeightedData } from "../examples/mixed-data.ts";
import { questionData } from "../examples/question-data.ts";
import { loadMaskedSentences } from "../examples/sample-masked-sentences.ts";
import type { LabelFreeExample } from "../examples/sources/example.ts";
import type { TrainingData } from "../examples/training-data.ts";
import {
  isLabelFree,
  type LabelFreeName,
  type ResolvedAdaptOptions,
  type SourceName,
} from "../options/adapt-options.ts";
import { QUERY_SIDES } from "../options/run-options.ts";
import type { MaskedSentence } from "../salient-spans/index.ts";
import { wantedExamples } from "./example-counts.ts";
import { type AdaptationInputs, holdOut, maxHeldOut } from "./inputs.ts";
import { labelFreeExamples } from "./label-free.ts";
import { createMonitorSet } from "./monitor-set.ts";

/** The examples of the label-free sources: to train on, and held out. */
interface Made {
  readonly data: Map<SourceName, TrainingData>;
  readonly sentences: readonly MaskedSentence[];
  readonly labelFree: readonly LabelFreeExample[];
}

/** @throws {InputError} if the corpus has no example of a source. */
export async function* adaptationData(
  options: ResolvedAdaptOptions,
  corpus: Corpus,
  inputs: AdaptationInputs,
): AsyncGenerator<ProgressEvent, TrainingData> {
  const { seed, steps, questions: perStep, weights = {} } = options;
  const { questions, labelled } = inputs;
  const { names } = inputs.sources;
  const made = yield* makeExamples(options, corpus, inputs);
  const dataOf = (name: SourceName): TrainingData => {
    if (name === "questions") return questionData(options, corpus, questions.training);
    if (name === "labels") return labelledQueryData(options, corpus, labelled.training);
    return made.data.get(name)!;
  };
  const weighted = names.map(
    (name): WeightedData => ({ name, weight: weights[name] ?? 1, data: dataOf(name) }),
  );
  const data = mixedData(weighted, { examples: steps * perStep, seed });
  yield { type: "stage", name: "preparing the retrieval monitor" };
  const monitorSet = await createMonitorSet(options, corpus, {
    sentences: made.sentences,
    labelFree: made.labelFree,
    questions: questions.heldOut,
    labelled: labelled.heldOut,
  });
  const identity = [data.digest, monitorSet.questions, monitorSet.every];
  return {
    ...data,
    kind: kindOf(options, corpus, names),
    digest: createHash("sha256").update(JSON.stringify(identity)).digest("hex"),
    monitorSet: monitorSet.questions.length > 0 ? monitorSet : undefined,
  };
}

function kindOf(
  { model, querySide }: ResolvedAdaptOptions,
  corpus: Corpus,
  names: readonly SourceName[],
): string {
  const part = querySide ? `${QUERY_SIDES[querySide]} of ` : "";
  const given = names.every(isLabelFree) ? "documents alone" : "labels or questions";
  return (
    `Adaptation of ${part}${model} to ${basename(corpus.file)} ` +
    `(${corpus.size.toLocaleString("en-US")} passages) ` +
    `with ${given}: ${names.join(", ")}`
  );
}

/** Makes the examples of all label-free sources, and holds out some of each. */
async function* makeExamples(
  options: ResolvedAdaptOptions,
  corpus: Corpus,
  { sources, labelFree }: AdaptationInputs,
): AsyncGenerator<ProgressEvent, Made> {
  const names = sources.names.filter(isLabelFree);
  const max =
    options.dev === undefined ? Math.floor(maxHeldOut(options) / Math.max(1, names.length)) : 0;
  const data = new Map<SourceName, TrainingData>();
  let sentences: readonly MaskedSentence[] = [];
  const heldOut: LabelFreeExample[] = [];
  for (const name of names) {
    const wanted = wantedExamples(options, sources, name);
    if (name === "spans" && !labelFree.sentences) {
      const all = yield* loadMaskedSentences(options, corpus, wanted, options.tagger);
      const split = holdOut(all, options.seed, max);
      sentences = split.heldOut;
      data.set(name, maskedSentenceData(options, corpus, split.training, options));
      continue;
    }
    yield { type: "stage", name: `making ${STAGES[name]}` };
    const sample = { wanted, seed: options.seed };
    const made = await collected(labelFreeExamples(name, labelFree, sample, options.tagger));
    const all = name === "generated" ? yield* answerable(options, corpus, made) : made;
    const split = holdOut(all, options.seed, max);
    heldOut.push(...split.heldOut);
    data.set(name, labelFreeData(options, corpus, name, split.training));
  }
  return { data, sentences, labelFree: heldOut };
}

const STAGES: Readonly<Record<LabelFreeName, string>> = {
  spans: "masked sentences",
  crops: "crops",
  titles: "queries of titles",
  phrases: "examples of recurring phrases",
  generated: "questions about recurring phrases",
};

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
