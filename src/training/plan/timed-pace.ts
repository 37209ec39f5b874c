/**
 * What a run with a time limit measures, fitted to how fast the model encodes on this machine now.
 * The plan counts, and other work can make a machine many times slower than that.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ProgressEvent } from "../../io/progress.ts";
import { createRandom } from "../../math/random.ts";
import type { Corpus } from "../examples/corpus.ts";
import { withIndexedModel } from "../run/current-model.ts";
import type { Run } from "../run/run.ts";
import { compressionSeconds, measurementSeconds, passagesInTime } from "./pace.ts";
import type { Estimate, RunWork } from "./plan.ts";

/** Passages that are encoded to see how long it takes. */
const TIMED_PASSAGES = 24;
/** The most of a time limit that one measurement may take: three are done at least. */
const MEASUREMENT_SHARE = 0.08;
/** The most of a time limit that the index of the corpus may take. Else it is left out. */
const INDEX_SHARE = 0.5;
/** Seconds that it may always take. */
const SHORT_INDEX = 30;

interface Fitted<Limited> {
  readonly run: Limited;
  readonly work: RunWork;
  readonly estimate: Estimate;
}

/**
 * In a run with a time limit: encodes a few passages, and takes their time for the pace of the run.
 * Where that is slower than the limit allows, fewer held-out examples are searched among fewer
 * passages, and the corpus is not indexed.
 */
export async function* fitToMachine<Limited extends Run>(
  { run, work, estimate }: Fitted<Limited>,
  corpus: Corpus,
): AsyncGenerator<ProgressEvent, Fitted<Limited>> {
  if (run.minutes === undefined) return { run, work, estimate };
  const seconds = 60 * run.minutes;
  const { sample } = estimate;
  const encoding = yield* secondsOfPassage(run, corpus);
  const passage = encoding * (sample.indexed / sample.trained);
  const step = estimate.pace.step * (passage / estimate.pace.passage);
  const pace = { passage, step };
  const most = passagesInTime(MEASUREMENT_SHARE * seconds, pace, sample);
  const isShrunk = work.measured !== undefined && work.measured.passages > most;
  const measured = isShrunk ? { ...work.measured!, passages: most } : work.measured;
  const index = work.passages * passage + compressionSeconds(run, work, sample);
  const writesIndex = work.writesIndex && index <= Math.max(SHORT_INDEX, INDEX_SHARE * seconds);
  yield {
    type: "stage",
    name:
      `encoding ${(1 / encoding).toPrecision(2)} passages a second: a measurement takes about ` +
      `${Math.ceil(measurementSeconds(measured, pace, sample))} s` +
      (writesIndex === work.writesIndex
        ? ""
        : `, and the index of the corpus ${Math.ceil(index / 60)} min, so it is left out`),
  };
  return {
    run: isShrunk ? { ...run, measurements: { ...run.measurements, passages: most } } : run,
    work: { ...work, measured, writesIndex },
    estimate: { ...estimate, pace },
  };
}

/** Seconds to encode a passage as it is cut in training. */
async function* secondsOfPassage(run: Run, corpus: Corpus): AsyncGenerator<ProgressEvent, number> {
  const { folder, model, batch, device, seed, signal } = run;
  const random = createRandom(seed, "timed");
  const ids = Array.from(
    { length: TIMED_PASSAGES },
    () => corpus.ids[random.integer(corpus.size)]!,
  );
  const passages = [...(await corpus.pick(ids)).values()];
  const location = join(folder, "checkpoint", "timed");
  const { maxPassageTokens } = batch;
  const { provider } = device;
  const options = { location, model, maxPassageTokens, provider, signal };
  const seconds = yield* withIndexedModel(passages, options, async function* (_, __, taken) {
    yield { type: "progress", done: passages.length } as const;
    return taken;
  });
  await rm(location, { recursive: true });
  return seconds / passages.length;
}
