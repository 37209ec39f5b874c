/** The training data of an adaptation: its sources, mixed, and the retrieval monitor's set. */

import { basename, join } from "node:path";
import { modelTitle } from "../../hub/model-title.ts";
import { canonicalDigest } from "../../io/json/canonical-json.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { Example } from "../examples/example.ts";
import {
  holdOut,
  maxHeldOut,
  nothingHeldOut,
  type Split,
  splitCounts,
} from "../examples/held-out.ts";
import { kept } from "../examples/kept.ts";
import { madeExample, madeExamples } from "../examples/made-examples.ts";
import type { Source } from "../examples/sources/source.ts";
import {
  type DataPart,
  type MonitorSet,
  mixture,
  type Share,
  type TrainingData,
} from "../examples/training-data.ts";
import { withCandidates } from "../examples/with-candidates.ts";
import { PART_TEXTS } from "../options/trained.ts";
import { candidateSettings } from "../run/run.ts";
import { createMonitorSet } from "../verdict/monitor-set.ts";
import { type Adaptation, wantedExamples } from "./adaptation.ts";
import type { AdaptationInputs } from "./inputs.ts";
import { sourcesIn } from "./label-free.ts";

/** @throws {InputError} if no source has an example with a candidate that helps. */
export async function* adaptationData(
  run: Adaptation,
  corpus: Corpus,
  inputs: AdaptationInputs,
): AsyncGenerator<ProgressEvent, TrainingData> {
  const { seed, weights } = run;
  const { labelFree, files } = inputs.sources;
  const sources = sourcesIn(inputs.sources);
  const all = new Map<string, readonly Example[]>();
  for (const { source } of labelFree)
    all.set(source.name, yield* keptExamples(run, corpus, inputs, source));
  for (const { name } of files) all.set(name, inputs[name]);
  const splits = await splitExamples(run, inputs, all);
  const heldOut = inputs.dev ?? [...splits.values()].flatMap((split) => split.heldOut);
  const shares = sources.map((source): Share => {
    const { training } = splits.get(source.name)!;
    const data = withCandidates(candidateSettings(run), corpus, source, training);
    return { name: source.name, weight: weights[source.name] ?? 1, data };
  });
  const data = mixture(shares, { examples: run.schedule.steps * run.batch.questions, seed });
  yield { type: "stage", name: "preparing the retrieval monitor" };
  const monitorSet = await createMonitorSet(run, corpus, heldOut);
  const identity = [data.digest, monitorSet.questions, monitorSet.every];
  return {
    ...data,
    parts: partsOf(run, inputs, shares, monitorSet),
    kind: kindOf(run, corpus, inputs),
    counts: {
      sources: sources.map((one) => splitCounts(one, all.get(one.name)!, splits.get(one.name)!)),
      heldOut: heldOut.length,
      measured: monitorSet.questions.length,
    },
    digest: canonicalDigest(identity),
    monitorSet: monitorSet.questions.length > 0 ? monitorSet : undefined,
  };
}

/** Training and held-out examples of each source; beside dev questions none are held out. */
async function splitExamples(
  run: Adaptation,
  { dev, passages, sources: { labelFree } }: AdaptationInputs,
  all: ReadonlyMap<string, readonly Example[]>,
): Promise<ReadonlyMap<string, Split>> {
  if (dev) return nothingHeldOut(all);
  const most = maxHeldOut(run);
  const ofEach = Math.floor(most / Math.max(1, labelFree.length));
  const made = new Set(labelFree.map(({ source }) => source.name));
  return holdOut(all, passages, {
    seed: run.seed,
    max: (name) => (made.has(name) ? ofEach : most),
  });
}

function kindOf(
  { model, part }: Adaptation,
  corpus: Corpus,
  { sources }: AdaptationInputs,
): string {
  const trained = part === "all" ? "" : `${PART_TEXTS[part]} of `;
  const given = sources.files.length === 0 ? "documents alone" : "labels or questions";
  const names = sourcesIn(sources).map(({ name }) => name);
  return (
    `Adaptation of ${trained}${modelTitle(model)} to ${basename(corpus.file)} ` +
    `(${corpus.size.toLocaleString("en-US")} passages) ` +
    `with ${given}: ${names.join(", ")}`
  );
}

/** The examples of a label-free source. A resumed run reads those of the interrupted one. */
async function* keptExamples(
  run: Adaptation,
  corpus: Corpus,
  { sources, passages }: AdaptationInputs,
  source: Source,
): AsyncGenerator<ProgressEvent, readonly Example[]> {
  const { folder, resume, seed } = run;
  const wanted = wantedExamples(run, sources, source);
  const identity = { corpus: corpus.digest, "number of examples": wanted, seed };
  const file = madeFile(folder, source.name);
  return yield* kept({ file, resume, noun: "examples", identity, item: madeExample }, () =>
    madeExamples(source, corpus, passages, { wanted, seed }),
  );
}

/** The examples of each source, and the dev questions if there are any. */
function partsOf(
  { folder }: Adaptation,
  { files, dev }: AdaptationInputs,
  shares: readonly Share[],
  { questions }: MonitorSet,
): DataPart[] {
  const given = new Map(Object.entries(files));
  const ofSources = shares.map(({ name, data: { digest } }) => ({
    ...{ name, digest },
    file: given.get(name) ?? madeFile(folder, name),
  }));
  const ofDev = { name: "dev", digest: canonicalDigest(questions), file: `${files.dev}` };
  return dev ? [...ofSources, ofDev] : ofSources;
}

/** Where the examples that a source made are kept. */
const madeFile = (folder: string, source: string): string =>
  join(folder, `examples-${source}.jsonl`);
