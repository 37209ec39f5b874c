/** The training data of `train`: its questions, and those that are held out to measure with. */

import { createHash } from "node:crypto";
import { basename } from "node:path";
import { modelTitle } from "../hub/model-title.ts";
import { canonicalJson } from "../io/json/canonical-json.ts";
import type { ProgressEvent } from "../io/progress.ts";
import type { Corpus } from "./examples/corpus.ts";
import type { Example } from "./examples/example.ts";
import { heldOutCount, holdOut, maxHeldOut, type Split } from "./examples/held-out.ts";
import { readable } from "./examples/sources/readable.ts";
import type { TrainingData } from "./examples/training-data.ts";
import { questionSource } from "./examples/training-questions.ts";
import { withCandidates } from "./examples/with-candidates.ts";
import { candidateSettings, type Run } from "./run/run.ts";
import { createMonitorSet } from "./verdict/monitor-set.ts";

/** The questions of a run. */
export interface Questions {
  readonly file: string;
  readonly examples: readonly Example[];
  /** Why none are held out. Undefined: some are. */
  readonly whole: string | undefined;
}

/** How many questions are held out, by the rule of `adapt`. */
export const heldOutOf = (
  { examples, whole }: Questions,
  options: Parameters<typeof maxHeldOut>[0],
): number => (whole === undefined ? heldOutCount(examples.length, maxHeldOut(options)) : 0);

/** @throws {InputError} as `withCandidates` does */
export async function* questionData(
  run: Run,
  corpus: Corpus,
  questions: Questions,
): AsyncGenerator<ProgressEvent, TrainingData> {
  const { file, examples } = questions;
  const { training, heldOut } = await split(run, corpus, questions);
  const data = withCandidates(candidateSettings(run), corpus, questionSource, training);
  const kind = `Training of ${modelTitle(run.model)} on ${basename(file)}`;
  const { name, relevant } = questionSource;
  if (heldOut.length === 0) return { ...data, kind, parts: [{ name, file, digest: data.digest }] };
  yield { type: "stage", name: "preparing the retrieval monitor" };
  const monitorSet = await createMonitorSet(run, corpus, heldOut);
  const measured = monitorSet.questions.length;
  const digest = digestOf([data.digest, heldOut]);
  const counts = { all: examples.length, training: training.length, heldOut: heldOut.length };
  return {
    ...data,
    ...{ kind, digest },
    parts: [{ name, file, digest }],
    counts: { sources: [{ name, relevant, ...counts }], heldOut: heldOut.length, measured },
    monitorSet: measured > 0 ? monitorSet : undefined,
  };
}

async function split(run: Run, corpus: Corpus, { examples, whole }: Questions): Promise<Split> {
  if (whole !== undefined) return { training: examples, heldOut: [] };
  const { name } = questionSource;
  const passages = readable(corpus, run.batch.maxPassageTokens);
  const max = (): number => maxHeldOut(run);
  const splits = await holdOut(new Map([[name, examples]]), passages, { seed: run.seed, max });
  return splits.get(name)!;
}

const digestOf = (value: unknown): string =>
  createHash("sha256").update(canonicalJson(value)).digest("hex");
