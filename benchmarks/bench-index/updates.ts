/**
 * Updates while another process searches. That process opens the index again every few searches and
 * checks that each passage keeps its score. This process adds and deletes passages.
 */

import type { ReAtt } from "../../src/reatt.ts";
import { deletePassages } from "../../src/retrieval/maintain.ts";
import { openIndex } from "../../src/retrieval/open-index.ts";
import { readVectors, TOP_K } from "./search.ts";
import { ownTask, runApart } from "./subprocess.ts";

const SEARCHES_A_STATE = 10;

export interface UpdateTimes {
  /** Milliseconds of each update: the addition or deletion of one passage. */
  readonly changes: readonly number[];
  /** Milliseconds of each search of the other process, including opening if it opened. */
  readonly searches: readonly number[];
  /** Searches that found too few passages, or a passage with a changed score. */
  readonly wrong: number;
}

interface ReaderTask {
  readonly directory: string;
  /** The file of the questions' vectors. */
  readonly questions: string;
  readonly searches: number;
}

type ReaderReport = Pick<UpdateTimes, "searches" | "wrong">;

/** `changes` 0 measures the searches alone. */
export async function timeUpdates(
  model: ReAtt,
  task: ReaderTask,
  changes: number,
): Promise<UpdateTimes> {
  const { directory } = task;
  const reader = runApart<ReaderReport>(import.meta.url, task);
  const times: number[] = [];
  for (let i = 0; i < changes; i++) {
    const start = performance.now();
    if (i % 2 === 1) await deletePassages([`added-${i - 1}`], { directory });
    else {
      const passage = {
        id: `added-${i}`,
        title: "",
        text: `The ship ${i} sailed to port ${i % 97}.`,
      };
      await (await model.add([passage], { directory }))[Symbol.asyncDispose]();
    }
    times.push(performance.now() - start);
  }
  return { changes: times, ...(await reader) };
}

async function searchOverAndOver({
  directory,
  questions: file,
  searches,
}: ReaderTask): Promise<ReaderReport> {
  const questions = await readVectors(file);
  const known = questions.map(() => new Map<string, number>());
  const times: number[] = [];
  let wrong = 0;
  while (times.length < searches) {
    let start = performance.now();
    await using index = await openIndex(directory);
    for (let i = 0; i < SEARCHES_A_STATE && times.length < searches; i++) {
      const question = times.length % questions.length;
      const hits = await index.search(questions[question]!, { topK: TOP_K });
      times.push(performance.now() - start);
      for (const { id, score } of hits) {
        if ((known[question]!.get(id) ?? score) !== score) wrong++;
        known[question]!.set(id, score);
      }
      if (hits.length < TOP_K) wrong++;
      start = performance.now();
    }
  }
  return { searches: times, wrong };
}

const task = ownTask<ReaderTask>(import.meta.url);
if (task) process.stdout.write(JSON.stringify(await searchOverAndOver(task)));
