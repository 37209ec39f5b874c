/** Retrieval, and answers, of a model on a dataset, in a process of its own. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exactMatch } from "../../src/evaluation/answers.ts";
import { openBeir } from "../../src/evaluation/beir.ts";
import { evaluateRun } from "../../src/evaluation/ranking.ts";
import { mean } from "../../src/math/mean.ts";
import { hitLists } from "../../src/reatt/retrieving.ts";
import { ReAtt } from "../../src/reatt.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import { readTrainingFile } from "../../src/training/examples/training-questions.ts";
import { ownTask, runApart } from "../bench-index/subprocess.ts";

interface RetrievalTask {
  readonly model: string;
  /** A folder that `openBeir` opens. */
  readonly data: string;
  readonly split: string;
  /** Names of measures of `evaluateRun`. */
  readonly measures: readonly string[];
  readonly maxPassageTokens: number;
  readonly answers?: AnswerTask;
}

/** Exact match `em`, reading the best passages that are found, and `em, gold`, the right one. */
interface AnswerTask {
  /** Questions with `answers` and `passage_id`; every `every`-th is answered. */
  readonly questions: string;
  readonly every: number;
  readonly readTopK: number;
}

const DEPTH = 20;

/**
 * R@1, 5 and 20 of a model on SQuAD dev, in percent, and exact match with `answers`.
 *
 * @param data the folder of all data, with `squad`
 */
export function measureOnSquad(
  model: string,
  data: string,
  answers?: Omit<AnswerTask, "questions">,
): Promise<Record<string, number>> {
  const squad = join(data, "squad");
  const task: RetrievalTask = {
    ...{ model, data: squad, split: "dev", maxPassageTokens: 256 },
    measures: ["recall@1", "recall@5", "recall@20"],
    ...(answers && { answers: { questions: join(squad, "dev.jsonl"), ...answers } }),
  };
  return runApart(import.meta.url, task);
}

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
    const hits = await hitLists(model.retrieve(texts, index, { topK: DEPTH, hybrid: false }));
    const run = new Map(
      queries.map((id, i) => [id, hits[i]!.filter((hit) => hit.id !== id)] as const),
    );
    const { measures } = evaluateRun(run, qrels, [1, 5, 20]);
    return {
      ...Object.fromEntries(task.measures.map((name) => [name, 100 * measures[name]!])),
      ...(task.answers && (await measureAnswers(model, index, task.answers))),
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function measureAnswers(
  model: ReAtt,
  index: TokenIndex,
  { questions, every, readTopK }: AnswerTask,
): Promise<Record<string, number>> {
  const asked = (await readTrainingFile(questions)).filter((_, i) => i % every === 0);
  const right: Record<string, number[]> = { em: [], "em, gold": [] };
  for (const { question, answers, passageId } of asked) {
    const gold = { filter: new Set([passageId!]) };
    for (const [name, place] of Object.entries({ em: { readTopK }, "em, gold": gold })) {
      const options = { ...place, hybrid: false, minimumConfidence: 0 } as const;
      const { answer } = await model.answer(question, index, options);
      right[name]!.push(Number(exactMatch(answer ?? "", answers)));
    }
  }
  return Object.fromEntries(Object.entries(right).map(([name, ones]) => [name, 100 * mean(ones)]));
}
