/** Retrieval of a model on a dataset, in a process of its own. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBeir } from "../../src/evaluation/beir.ts";
import { evaluateRun } from "../../src/evaluation/ranking.ts";
import { ReAtt } from "../../src/reatt.ts";
import { ownTask, runApart } from "../bench-index/subprocess.ts";

export interface RetrievalTask {
  readonly model: string;
  /** A folder that `openBeir` opens. */
  readonly data: string;
  readonly split: string;
  /** Names of measures of `evaluateRun`. */
  readonly measures: readonly string[];
  readonly maxPassageTokens: number;
}

const DEPTH = 20;

/** The measures of a model, in percent. */
export const measureRetrieval = (task: RetrievalTask): Promise<Record<string, number>> =>
  runApart(import.meta.url, task);

const task = ownTask<RetrievalTask>(import.meta.url);
if (task) console.log(JSON.stringify(await measure(task)));

async function measure(task: RetrievalTask): Promise<Record<string, number>> {
  const dataset = await openBeir(task.data);
  const qrels = await dataset.qrels(task.split);
  const queries = [...qrels.keys()];
  const texts = queries.map((id) => dataset.queries.get(id)!);
  const folder = await mkdtemp(join(tmpdir(), "reatt-study-"));
  try {
    await using model = await ReAtt.load(task.model, { threads: 1 });
    const { maxPassageTokens } = task;
    const options = { directory: folder, bits: 32, maxPassageTokens, replace: true } as const;
    await using index = await model.index(dataset.passages(), options);
    const hits = await model.retrieve(texts, index, { topK: DEPTH });
    const run = new Map(
      queries.map((id, i) => [id, hits[i]!.filter((hit) => hit.id !== id)] as const),
    );
    const { measures } = evaluateRun(run, qrels, [1, 5, 20]);
    return Object.fromEntries(task.measures.map((name) => [name, 100 * measures[name]!]));
  } finally {
    await rm(folder, { recursive: true });
  }
}
