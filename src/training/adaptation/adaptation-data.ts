/** The training data of an adaptation: its sources, mixed, and the retrieval monitor's set. */

import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { z } from "zod";
import { modelTitle } from "../../hub/model-title.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import { answerable } from "../examples/answerable.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { Example } from "../examples/example.ts";
import { holdOut, type Split } from "../examples/held-out.ts";
import { kept } from "../examples/kept.ts";
import { examplesOf } from "../examples/sources/index.ts";
import { isLabelFree, type LabelFreeName, type SourceName } from "../examples/sources/names.ts";
import {
  mixture,
  type Share,
  type SourceCounts,
  type TrainingData,
} from "../examples/training-data.ts";
import { withCandidates } from "../examples/with-candidates.ts";
import { PART_TEXTS } from "../options/trained.ts";
import { candidateSettings } from "../run/run.ts";
import { type Adaptation, maxHeldOut, wantedExamples } from "./adaptation.ts";
import type { AdaptationInputs } from "./inputs.ts";
import { createMonitorSet } from "./monitor-set.ts";

/** @throws {InputError} if no source has an example with a candidate that helps. */
export async function* adaptationData(
  run: Adaptation,
  corpus: Corpus,
  inputs: AdaptationInputs,
): AsyncGenerator<ProgressEvent, TrainingData> {
  const { seed, weights } = run;
  const { names } = inputs.sources;
  const all = new Map<SourceName, readonly Example[]>();
  for (const name of names)
    all.set(
      name,
      isLabelFree(name) ? yield* madeExamples(run, corpus, inputs, name) : inputs[name],
    );
  const splits = await splitExamples(run, inputs, all);
  const heldOut = inputs.dev ?? [...splits.values()].flatMap((split) => split.heldOut);
  const shares = [...splits].map(([name, { training }]): Share => {
    const data = withCandidates(candidateSettings(run), corpus, name, training);
    return { name, weight: weights[name] ?? 1, data };
  });
  const data = mixture(shares, { examples: run.schedule.steps * run.batch.questions, seed });
  yield { type: "stage", name: "preparing the retrieval monitor" };
  const monitorSet = await createMonitorSet(run, corpus, heldOut);
  const identity = [data.digest, monitorSet.questions, monitorSet.every];
  return {
    ...data,
    kind: kindOf(run, corpus, names),
    counts: {
      sources: names.map((name) => countsOf(name, all.get(name)!, splits.get(name)!)),
      heldOut: heldOut.length,
      measured: monitorSet.questions.length,
    },
    digest: createHash("sha256").update(JSON.stringify(identity)).digest("hex"),
    monitorSet: monitorSet.questions.length > 0 ? monitorSet : undefined,
  };
}

/** Training and held-out examples of each source; beside dev questions none are held out. */
async function splitExamples(
  run: Adaptation,
  { dev, documents }: AdaptationInputs,
  all: ReadonlyMap<SourceName, readonly Example[]>,
): Promise<ReadonlyMap<SourceName, Split>> {
  if (dev) return new Map([...all].map(([name, training]) => [name, { training, heldOut: [] }]));
  const most = maxHeldOut(run);
  const ofEach = Math.floor(most / Math.max(1, [...all.keys()].filter(isLabelFree).length));
  const max = (name: SourceName): number => (isLabelFree(name) ? ofEach : most);
  return holdOut(all, documents.corpus, { seed: run.seed, max });
}

/** Which passages are relevant to the examples of a source. */
const RELEVANT: Readonly<Record<SourceName, string>> = {
  spans: "the passage of the sentence",
  crops: "the passage of the sentence",
  titles: "the passages below the title",
  phrases: "the passage of the words, or the others with the phrase",
  generated: "the passage of the sentence",
  questions: "those that the file names, or else those that BM25 finds and that contain an answer",
  labels: "those with a label above 0",
};

const countsOf = (
  name: SourceName,
  all: readonly Example[],
  { training, heldOut }: Split,
): SourceCounts => ({
  ...{ name, relevant: RELEVANT[name], all: all.length },
  ...{ training: training.length, heldOut: heldOut.length },
});

function kindOf({ model, part }: Adaptation, corpus: Corpus, names: readonly SourceName[]): string {
  const trained = part === "all" ? "" : `${PART_TEXTS[part]} of `;
  const given = names.every(isLabelFree) ? "documents alone" : "labels or questions";
  return (
    `Adaptation of ${trained}${modelTitle(model)} to ${basename(corpus.file)} ` +
    `(${corpus.size.toLocaleString("en-US")} passages) ` +
    `with ${given}: ${names.join(", ")}`
  );
}

const STAGES: Readonly<Record<LabelFreeName, string>> = {
  spans: "masking sentences",
  crops: "making crops",
  titles: "making queries of titles",
  phrases: "making examples of recurring phrases",
  generated: "making questions about recurring phrases",
};

/** What a file of examples must have, at least. */
const madeExample: z.ZodType<Example> = z.looseObject({
  id: z.string(),
  question: z.string(),
  answers: z.array(z.string()),
  relevant: z.array(z.string()),
});
/** Examples between two reports of progress. */
const REPORTED = 100;

/** The examples of a label-free source. A resumed run reads those of the interrupted one. */
async function* madeExamples(
  run: Adaptation,
  corpus: Corpus,
  { sources, documents }: AdaptationInputs,
  name: LabelFreeName,
): AsyncGenerator<ProgressEvent, readonly Example[]> {
  const { model, folder, resume, seed, signal } = run;
  const wanted = wantedExamples(run, sources, name);
  const identity = { corpus: corpus.digest, "number of examples": wanted, seed };
  const file = join(folder, `examples-${name}.jsonl`);
  return yield* kept(
    { file, resume, noun: "examples", identity, item: madeExample },
    async function* () {
      yield { type: "stage", name: STAGES[name], total: wanted };
      const all: Example[] = [];
      for await (const example of examplesOf(name, documents, { wanted, seed }))
        if (all.push(example) % REPORTED === 0) yield { type: "progress", done: all.length };
      if (name !== "generated") return all;
      const { provider } = run.device;
      const { maxPassageTokens } = run.batch;
      return yield* answerable({ model, provider, maxPassageTokens, signal }, corpus, all);
    },
  );
}
