/**
 * Background refresh: finds candidates with a recent model while training continues. A second
 * process indexes and searches the corpus with a snapshot of the weights. Training reads the new
 * candidates from the first step after the search ends.
 *
 * Source: REALM (Guu et al. 2020), section 3.3, "asynchronous MIPS refreshes".
 *
 *     OUT/checkpoint/
 *       refresh/model, refresh/index    of the last snapshot
 *       refreshes.json                  [{"step", "snapshot"}]: the swaps of candidates
 *
 * The step of a swap depends on the duration of the search. A resumed run repeats the recorded
 * swaps at the same steps, with the same files.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { finished } from "../../io/progress.ts";
import { replaceFile } from "../../io/replace-file.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { TextExamples } from "../examples/step.ts";
import type { TrainingData } from "../examples/training-data.ts";
import { type SearchProcessOptions, startBackgroundSearch } from "./background-search.ts";
import type { RunEvent } from "./events.ts";
import type { Run } from "./run.ts";

/** Examples with the age of their candidates. */
export interface SnapshotExamples {
  readonly source: TextExamples;
  /** Steps done by the model that found the candidates; undefined if no model did. */
  readonly snapshot: number | undefined;
}

interface Swap {
  /** Steps done at the swap. */
  readonly step: number;
  /** Steps done by the model that found the candidates. */
  readonly snapshot: number;
}

export interface BackgroundRefresh extends AsyncDisposable {
  /**
   * The examples to read after `step` steps. Swaps the candidates if a search has ended, and starts
   * the next search if they are old enough.
   *
   * @throws {InputError} if the search fails.
   */
  examples(step: number): AsyncGenerator<RunEvent, SnapshotExamples>;
}

interface RefreshOptions {
  /** Writes the current model to a folder, and a checkpoint of the run. */
  readonly saveSnapshot: (folder: string) => Promise<void>;
  /** Whether the run continues from a checkpoint. */
  readonly resumed: boolean;
}

export async function openBackgroundRefresh(
  run: Run,
  corpus: Corpus,
  data: TrainingData,
  { saveSnapshot, resumed }: RefreshOptions,
): Promise<BackgroundRefresh> {
  const { folder } = run;
  const { refreshSteps } = run.schedule;
  const { maxPassageTokens } = run.batch;
  const { provider } = run.device;
  const file = join(folder, "checkpoint", "refreshes.json");
  const location = join(folder, "checkpoint", "refresh");
  const { file: corpusFile, digest } = corpus;
  const process = { location, maxPassageTokens, provider, corpus: { file: corpusFile, digest } };
  const swaps = resumed ? await readSwaps(file) : [];
  const stop = new AbortController();
  let current: SnapshotExamples | undefined;
  let search: { snapshot: number; done: boolean; result: Promise<TextExamples> } | undefined;

  const startSearch = async (snapshot: number): Promise<void> => {
    await saveSnapshot(join(location, "model"));
    const result = searchInBackground(data, snapshot, process, stop.signal);
    const started = { snapshot, done: false, result };
    search = started;
    result
      .catch(() => {}) // `examples` throws it
      .finally(() => {
        started.done = true;
      });
  };
  return {
    async *examples(step) {
      if (search?.done) {
        const { snapshot, result } = search;
        current = { source: await result, snapshot };
        search = undefined;
        swaps.push({ step, snapshot });
        await replaceFile(file, (handle) => handle.writeFile(JSON.stringify(swaps)));
        yield { type: "refresh", step, snapshot };
      }
      const last = swaps.findLast((swap) => swap.step <= step);
      if (!current || current.snapshot !== last?.snapshot)
        current = yield* examplesOfSwap(data, last);
      const staleness = step - (last?.snapshot ?? 0);
      if (!search && last === swaps.at(-1) && staleness >= refreshSteps) await startSearch(step);
      return current;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await search?.result.catch(() => {});
    },
  };
}

/** The examples of an earlier swap, whose files exist; without a swap, those of the start. */
async function* examplesOfSwap(
  data: TrainingData,
  swap: Swap | undefined,
): AsyncGenerator<RunEvent, SnapshotExamples> {
  const source = yield* swap
    ? data.examples(swap.snapshot, filesMissing)
    : data.examples(0, undefined);
  return { source, snapshot: swap?.snapshot };
}

/** The examples with the candidates of the snapshot. The process ends with the search. */
async function searchInBackground(
  data: TrainingData,
  snapshot: number,
  options: SearchProcessOptions,
  signal: AbortSignal,
): Promise<TextExamples> {
  const done = new AbortController();
  try {
    const retriever = startBackgroundSearch(options, AbortSignal.any([signal, done.signal]));
    return await finished(data.examples(snapshot, retriever));
  } finally {
    done.abort();
  }
}

/** A retriever for candidates that must be on disk. */
const filesMissing = async (): Promise<never> => {
  throw new InputError({
    where: "candidates",
    expected: "the files that the run has read",
    got: "none",
    remedy: "begin a new run in another folder",
  });
};

const description = z.array(z.object({ step: z.int(), snapshot: z.int() }));

async function readSwaps(file: string): Promise<Swap[]> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "[]"; // there was no swap yet
    throw error;
  });
  return description.parse(JSON.parse(text));
}
