/**
 * Close passages that keep up with the model while training goes on. A snapshot of the weights indexes the corpus and searches
 * it in a second process, and what it finds is read from the first step after it is whole. Source: REALM (Guu et al. 2020),
 * section 3.3, "asynchronous MIPS refreshes".
 *
 *     OUT/checkpoint/
 *       refresh/model, refresh/index    of the last snapshot
 *       refreshes.json                  [{"step", "snapshot"}]: after which steps close passages were swapped, and for whose
 *
 * When the next swap comes depends on the time that the search takes. A run that is resumed makes the swaps that are
 * written down after the same steps again, with the same files; what comes after them is open.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { finished } from "../../io/progress.ts";
import { replaceFile } from "../../io/replace-file.ts";
import type { CorpusSurvey } from "../data/corpus.ts";
import type { ExampleSource } from "../data/example-source.ts";
import type { TrainingTask } from "../data/task.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { startBackgroundSearch } from "./background-search.ts";
import { type IndexingSettings, indexingSettings } from "./current-model.ts";
import type { TrainingEvent } from "./events.ts";

/** Examples, and how many steps the model had done that found their close passages; undefined where no model did. */
export interface FoundExamples {
  readonly source: ExampleSource;
  readonly snapshot: number | undefined;
}

interface Swap {
  /** Steps done when it took place. */
  readonly step: number;
  /** Steps that the model had done which found the close passages. */
  readonly snapshot: number;
}

export interface BackgroundRefresh extends AsyncDisposable {
  /** What is read after `step` steps: other than before where a search has come to its end. May begin the next search. */
  examples(step: number): AsyncGenerator<TrainingEvent, FoundExamples>;
}

/**
 * @param saveSnapshot writes the model as it is now, in a checkpoint of the run and as a model in the folder it is given
 * @param resumed whether the run goes on from a checkpoint
 * @throws {InputError} by `examples`, where the search fails.
 */
export async function openBackgroundRefresh(
  options: ResolvedOptions,
  corpus: CorpusSurvey,
  task: TrainingTask,
  saveSnapshot: (folder: string) => Promise<void>,
  resumed: boolean,
): Promise<BackgroundRefresh> {
  const { out, unsupervisedSteps, refreshSteps } = options;
  const file = join(out, "checkpoint", "refreshes.json");
  const location = join(out, "checkpoint", "refresh");
  const swaps = resumed ? await readSwaps(file) : [];
  const stop = new AbortController();
  let current: FoundExamples | undefined;
  let search: { snapshot: number; done: boolean; result: Promise<ExampleSource> } | undefined;

  const begin = async (snapshot: number): Promise<void> => {
    await saveSnapshot(join(location, "model"));
    const result = inBackground(
      task,
      snapshot,
      indexingSettings(options, corpus, location),
      stop.signal,
    );
    const begun = { snapshot, done: false, result };
    search = begun;
    result
      .catch(() => {})
      .finally(() => {
        begun.done = true;
      });
  };
  /** Those of the first iteration, or of a swap that a run which is resumed made before. */
  async function* recall(swap: Swap | undefined): AsyncGenerator<TrainingEvent, FoundExamples> {
    const source = yield* swap ? task.prepare(swap.snapshot, lost) : task.prepare(0, undefined);
    return { source, snapshot: swap?.snapshot };
  }
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
      if (!current || current.snapshot !== last?.snapshot) current = yield* recall(last);
      const age = step - (last?.snapshot ?? unsupervisedSteps);
      if (!search && last === swaps.at(-1) && age >= refreshSteps) await begin(step);
      return current;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await search?.result.catch(() => {});
    },
  };
}

/** The examples with close passages as the snapshot's model finds them; its process ends with the work. */
async function inBackground(
  task: TrainingTask,
  snapshot: number,
  settings: IndexingSettings,
  signal: AbortSignal,
): Promise<ExampleSource> {
  const done = new AbortController();
  try {
    const search = startBackgroundSearch(settings, AbortSignal.any([signal, done.signal]));
    return await finished(task.prepare(snapshot, search));
  } finally {
    done.abort();
  }
}

const lost = async (): Promise<never> => {
  throw new InputError({
    where: "close passages",
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
